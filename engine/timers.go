package engine

import (
	"cmp"
	"fmt"
	"math"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// TimeDomain is which time something goes by.
type TimeDomain uint8

const (
	// InEventTime goes by the watermark; in a stream without watermarks, by the greatest timestamp so far.
	InEventTime TimeDomain = iota
	// InProcessingTime goes by [Config].Clock; in a graph without one, by the greatest timestamp so far.
	InProcessingTime
	timeDomains // how many there are
)

// String names the domain.
func (d TimeDomain) String() string {
	return [timeDomains]string{"event time", "processing time"}[d]
}

// Timer is a moment that a key has asked for.
type Timer[K comparable] struct {
	Key    K
	Time   int64 // milliseconds
	Domain TimeDomain
}

// TimerFunc is called when a timer is due. Its key is current, so it may read and write the key's state and set further timers;
// what it emits has the timer's time as its timestamp. An error ends the run.
type TimerFunc[K comparable, Out any] func(c Context, t Timer[K], emit func(Out)) error

// OnTimer sets what is called when a timer of the operator is due ([Keyed.Timers]). It emits the same type as the operator's
// [ProcessFunc]; another is reported by Build.
func OnTimer[Out any, K comparable](op *Keyed[K], f TimerFunc[K, Out]) {
	op.declare("timer function")
	if f == nil || op.onTimer != nil {
		op.task.exec.fail(fmt.Errorf("timer function of %s: none, or a second one: %w", op.op.name, ErrNil))
	}
	op.onTimer = f
}

// Timers sets and deletes timers of the current key. Each (key, time, domain) is there once, however often it is set. Due
// timers fire by time, at one moment in the order in which they were set; those of processing time before the next record. A
// timer at or before the present is due when time goes on; so is one that a timer sets for its own moment.
//
// At the end of the input time goes on, for each key and domain, to the latest timer that is set then; what is set for later
// than that never fires, so a timer that always sets its successor ends. Timers are part of the cut as "store-N.timers".
type Timers[K comparable] struct {
	keyed *Keyed[K]
	timerTable[K]
	due [timeDomains]heap[dueTimer[K]]
	// left counts the timers of each domain; what is more in the heap has been deleted.
	left [timeDomains]int
	seq  uint64
	// last is the latest time of each key that may still fire, once the input has ended; nil before.
	last [timeDomains]map[K]int64
	// While a timer's function runs, firing is its time; next are those that such functions have set for no later.
	running bool
	firing  int64
	next    [timeDomains][]dueTimer[K]
}

// dueTimer is an index of the table: one that is not there any more, or was set anew, is passed over.
type dueTimer[K comparable] struct {
	at  int64
	seq uint64
	key K
}

func (d dueTimer[K]) before(o dueTimer[K]) bool {
	return cmp.Or(cmp.Compare(d.at, o.at), cmp.Compare(d.seq, o.seq)) < 0
}

// Timers gives the timers of the operator, while it is set up. What they call is set by [OnTimer].
func (op *Keyed[K]) Timers() *Timers[K] {
	if op.timers != nil {
		return op.timers
	}
	op.declare("timers")
	s := &Timers[K]{keyed: op}
	op.timers = s
	keys, err := state.CodecOf[Timer[K]]()
	seqs, err2 := state.CodecOf[uint64]()
	if err = cmp.Or(err, err2); err != nil {
		op.task.exec.fail(fmt.Errorf("timers of %s: %w", op.name, err))
		return s
	}
	hash := state.Hasher(op.keys)
	s.timerTable = timerTable[K]{
		scope: op.task.scope(op.name + ".timers"), loaded: s.index,
		table: state.NewTable(op.task.cfg.MaxParallelism, func(t Timer[K]) uint64 { return hash(t.Key) }, keys, seqs),
	}
	op.task.exec.register(&s.timerTable)
	op.keepTime()
	return s
}

// RegisterEventTime sets a timer of the current key at a moment of event time. Setting it again changes nothing.
func (s *Timers[K]) RegisterEventTime(at int64) { s.set(at, InEventTime) }

// RegisterProcessingTime sets a timer of the current key at a moment of processing time. Setting it again changes nothing.
func (s *Timers[K]) RegisterProcessingTime(at int64) { s.set(at, InProcessingTime) }

// DeleteEventTime takes a timer of the current key back. One that is not set is none.
func (s *Timers[K]) DeleteEventTime(at int64) { s.drop(at, InEventTime) }

// DeleteProcessingTime takes a timer of the current key back. One that is not set is none.
func (s *Timers[K]) DeleteProcessingTime(at int64) { s.drop(at, InProcessingTime) }

// EventTime is how far event time has come: the watermark, or what stands for it ([InEventTime]). It is [MinWatermark] at first.
func (s *Timers[K]) EventTime() int64 { return s.keyed.times.at[InEventTime] }

// ProcessingTime is the present ([InProcessingTime]).
func (s *Timers[K]) ProcessingTime() int64 { return s.keyed.now(InProcessingTime) }

func (s *Timers[K]) timer(at int64, d TimeDomain) Timer[K] {
	if !s.keyed.valid {
		panic(fmt.Errorf("timer of %s: %w", s.keyed.name, ErrNoKey))
	}
	return Timer[K]{s.keyed.key, at, d}
}

func (s *Timers[K]) set(at int64, d TimeDomain) {
	t := s.timer(at, d)
	// One that its own timer sets for the same moment, or an earlier one, would fire for ever: it waits until time goes on.
	again := s.running && at <= s.firing
	if s.last[d] != nil {
		if last, ok := s.last[d][t.Key]; !ok || at > last || again {
			return
		}
	}
	seq, fresh := s.table.Upsert(t)
	if !fresh {
		return
	}
	*seq = s.seq
	s.seq++
	s.left[d]++
	due := dueTimer[K]{at, *seq, t.Key}
	if again {
		s.next[d] = append(s.next[d], due)
		return
	}
	s.due[d].push(due)
}

// round ends a round of firing: what was set again comes up in the one after.
func (s *Timers[K]) round() {
	for d := range s.next {
		for _, t := range s.next[d] {
			s.due[d].push(t)
		}
		s.next[d] = s.next[d][:0]
	}
}

func (s *Timers[K]) drop(at int64, d TimeDomain) {
	if !s.table.Delete(s.timer(at, d)) {
		return
	}
	s.left[d]--
	// A timer that is put off with every record leaves one behind each time.
	if n := len(s.due[d]); n > 64 && n > 2*s.left[d] && !s.running {
		s.index()
	}
}

// index makes the heaps from the table.
func (s *Timers[K]) index() {
	s.left = [timeDomains]int{}
	for d := range s.due {
		clear(s.due[d])
		s.due[d] = s.due[d][:0]
	}
	for t, seq := range s.table.All() {
		s.due[t.Domain] = append(s.due[t.Domain], dueTimer[K]{t.Time, seq, t.Key})
		s.left[t.Domain]++
		s.seq = max(s.seq, seq+1)
	}
	for d := range s.due {
		s.due[d].order()
	}
}

// first is the moment of the first timer of a domain.
func (s *Timers[K]) first(d TimeDomain) int64 {
	for len(s.due[d]) > 0 {
		e := s.due[d][0]
		if seq, ok := s.table.Get(Timer[K]{e.key, e.at, d}); ok && seq == e.seq {
			return e.at
		}
		s.due[d].pop()
	}
	return math.MaxInt64
}

// take removes the first timer of a domain, if it is due at a moment.
func (s *Timers[K]) take(until int64, d TimeDomain) (Timer[K], bool) {
	if s.first(d) > until || len(s.due[d]) == 0 {
		return Timer[K]{}, false
	}
	e := s.due[d].pop()
	t := Timer[K]{e.key, e.at, d}
	s.table.Delete(t)
	s.left[d]--
	return t, true
}

// lastOf finds the latest timer of each key.
func (s *Timers[K]) lastOf(d TimeDomain) map[K]int64 {
	last := make(map[K]int64)
	for t := range s.table.All() {
		if t.Domain != d {
			continue
		}
		if at, ok := last[t.Key]; !ok || t.Time > at {
			last[t.Key] = t.Time
		}
	}
	return last
}
