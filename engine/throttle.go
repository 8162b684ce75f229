package engine

import (
	"context"
	"math"
	"time"
)

// Throttle limits src to perSecond records a second, evenly spaced; of several limits the lowest holds. Zero or less means no
// limit. The mean rate holds over short pauses: what up to a second of back-pressure has held back is made up for at once,
// and no more than that, so that a long pause is not followed by a flood.
func Throttle[T any](src Source[T], perSecond float64) Source[T] {
	if src == nil || !(perSecond > 0) || math.IsInf(perSecond, 1) {
		return src
	}
	if t, ok := src.(throttled[T]); ok {
		src, perSecond = t.Source, min(t.perSecond, perSecond)
	}
	return throttled[T]{src, perSecond}
}

type throttled[T any] struct {
	Source[T]
	perSecond float64
}

func (s throttled[T]) Run(ctx context.Context, c *Collector[T]) error {
	c.pace = &pacer{perSecond: s.perSecond, start: time.Now()}
	return s.Source.Run(ctx, c)
}

// Validate is that of the source behind.
func (s throttled[T]) Validate() error {
	if v, ok := s.Source.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// catchUp is how far behind its schedule a source may be and still make up for it.
const catchUp = time.Second

// pacer spaces records evenly from start on.
type pacer struct {
	perSecond float64
	start     time.Time
	n         float64 // records since
}

// wait returns when the next record is due, or ctx ends.
func (p *pacer) wait(ctx context.Context) error {
	due := min(p.n/p.perSecond*float64(time.Second), 1<<62) // A record in 146 years is one that never comes.
	early := time.Until(p.start.Add(time.Duration(due)))
	p.n++
	if early < -catchUp {
		p.start = p.start.Add(-catchUp - early)
	}
	if early <= 0 {
		return nil
	}
	timer := time.NewTimer(early)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
