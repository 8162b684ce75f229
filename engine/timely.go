package engine

import (
	"fmt"
	"math"
)

// timelyOp is [processOp] with timers, or with state that expires.
type timelyOp[K comparable, In, Out any] struct {
	processOp[K, In, Out]
	onTimer TimerFunc[K, Out]
	timerOp *operator
}

// prepare checks that timers and their function go together.
func (o *timelyOp[K, In, Out]) prepare() error {
	k := o.keyOf
	var ok bool
	switch o.onTimer, ok = k.onTimer.(TimerFunc[K, Out]); {
	case k.onTimer != nil && !ok:
		return fmt.Errorf("%s: timer function is a %T, not a %T: %w", o.op.name, k.onTimer, o.onTimer, ErrInvalid)
	case k.timers != nil && o.onTimer == nil:
		return fmt.Errorf("%s: timers without a function (OnTimer): %w", o.op.name, ErrNil)
	}
	if o.task.cfg.Clock != nil && k.timers != nil {
		o.task.clocked = append(o.task.clocked, o)
	}
	return nil
}

func (o *timelyOp[K, In, Out]) keyed(key K, v In, ts int64) error {
	if err := o.recordTime(ts); err != nil {
		return err
	}
	return o.processOp.keyed(key, v, ts)
}

// recordTime lets the time of records stand for what nothing else tells.
func (o *timelyOp[K, In, Out]) recordTime(ts int64) error {
	var domains [timeDomains]bool
	times := &o.keyOf.times.at
	domains[InEventTime] = !o.keyOf.timed && ts > times[InEventTime]
	domains[InProcessingTime] = o.task.cfg.Clock == nil && ts > times[InProcessingTime]
	for d, standsIn := range domains {
		if standsIn {
			times[d] = ts
		}
	}
	if domains == [timeDomains]bool{} {
		return nil
	}
	return o.fire(ts, domains)
}

func (o *timelyOp[K, In, Out]) watermark(wm int64) error {
	k := o.keyOf
	var err error
	if wm == MaxWatermark {
		if err = o.exhaust(InEventTime); err == nil {
			err = o.exhaust(InProcessingTime)
		}
	} else if wm > k.times.at[InEventTime] {
		k.times.at[InEventTime] = wm
		err = o.fire(wm, [timeDomains]bool{InEventTime: true})
	}
	if err != nil {
		return err
	}
	return o.processOp.watermark(wm)
}

// exhaust fires what is left at the end of the input, each timer at its own time.
func (o *timelyOp[K, In, Out]) exhaust(d TimeDomain) error {
	s := o.keyOf.timers
	if s == nil {
		return nil
	}
	s.last[d] = s.lastOf(d)
	defer func() {
		s.last[d] = make(map[K]int64)
		s.round()
	}()
	for {
		t, ok := s.take(math.MaxInt64, d)
		if !ok {
			return nil
		}
		o.keyOf.times.at[d] = max(o.keyOf.times.at[d], t.Time)
		if err := o.call(t); err != nil {
			return err
		}
	}
}

// fire calls what is due, by time over all of the given domains: then it makes no difference in which steps time goes on.
func (o *timelyOp[K, In, Out]) fire(until int64, domains [timeDomains]bool) error {
	s := o.keyOf.timers
	if s == nil {
		return nil
	}
	defer s.round()
	for {
		d := InEventTime
		if !domains[InEventTime] || domains[InProcessingTime] && s.first(InProcessingTime) < s.first(InEventTime) {
			d = InProcessingTime
		}
		t, ok := s.take(until, d)
		if !ok {
			return nil
		}
		if err := o.call(t); err != nil {
			return err
		}
	}
}

// call runs the timer function for one timer, which is not set any more.
func (o *timelyOp[K, In, Out]) call(t Timer[K]) error {
	k := o.keyOf
	k.key, k.valid, k.ts = t.Key, true, t.Time
	o.begin(t.Time)
	o.task.at = o.timerOp
	k.timers.running, k.timers.firing = true, t.Time
	err := o.onTimer(o.task.context(t.Time), t, o.emit)
	k.timers.running = false
	k.valid = false
	switch {
	case o.err != nil:
		return o.err
	case k.err != nil:
		return k.err
	case err != nil:
		return o.task.fault(o.timerOp, err)
	}
	return nil
}

func (o *timelyOp[K, In, Out]) next() int64 { return o.keyOf.timers.first(InProcessingTime) }

func (o *timelyOp[K, In, Out]) advance(now int64) error {
	return o.fire(now, [timeDomains]bool{InProcessingTime: true})
}
