package memlog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// retryWait is between two attempts of Publish or Follow at a call that a fault made fail.
const retryWait = 50 * time.Millisecond

// Config makes a Log; only Job is mandatory.
type Config struct {
	Job events.JobID
	// Fault is asked before each call what becomes of it; nil means that all goes well. It may block until its context ends.
	Fault func(ctx context.Context, op Op) Outcome
}

// Log is the log of one job, in memory. Make it with [New].
type Log struct {
	job   events.JobID
	fault func(ctx context.Context, op Op) Outcome

	mu             sync.Mutex
	stream         *stream // guarded by mu, as all below; nil when there is no log
	state          state
	logChanged     signal
	controlChanged signal
}

var _ eventlog.Job = (*Log)(nil)

// New makes an empty log.
func New(c Config) *Log {
	return &Log{
		job: c.Job, fault: c.Fault, state: newState(),
		logChanged: newSignal(), controlChanged: newSignal(),
	}
}

// Job implements [eventlog.Job].
func (l *Log) Job() events.JobID { return l.job }

// Publish implements [eventlog.Publisher].
func (l *Log) Publish(ctx context.Context, envs ...events.Envelope) error {
	for _, env := range envs {
		wires, err := eventlog.ToWire(env)
		if err != nil {
			return err
		}
		if err := l.publish(ctx, wires[0]); err != nil {
			return err
		}
	}
	return nil
}

// publish repeats an unknown outcome until it is known or ctx ends.
func (l *Log) publish(ctx context.Context, w eventlog.Wire) error {
	for {
		err := l.do(ctx, OpPublish, func() error {
			l.add(fieldsOf(w))
			return nil
		})
		if !errors.Is(err, eventlog.ErrUnknownOutcome) || pause(ctx, retryWait) != nil {
			return err
		}
	}
}

// add appends to the stream, which it creates if need be. The caller holds the lock.
func (l *Log) add(fields []eventlog.Field) events.Position {
	if l.stream == nil {
		l.stream = &stream{}
	}
	at := l.stream.add(fields)
	l.logChanged.signal()
	return at
}

// signal wakes all who wait for a change. The log closes the channel and makes a new one; nothing is sent.
type signal struct{ c chan struct{} }

func newSignal() signal { return signal{make(chan struct{})} }

func (s *signal) signal() {
	close(s.c)
	s.c = make(chan struct{})
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx) // when both are due at one instant of virtual time too
}
