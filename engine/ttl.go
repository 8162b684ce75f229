package engine

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// TTL is how long a value lives. The zero value means for ever.
type TTL struct {
	// After is the time from a write until the value is gone, in whole milliseconds; 0 means never.
	After time.Duration
	// Domain is the time that is meant. In event time a value is as old as the timestamp of the record that wrote it, and gone for
	// a record whose own timestamp is After beyond that, and for a late one once the watermark is; for a timer of event time, at
	// its moment. So for records that are not late it makes no difference how far the watermark is, which with several subtasks
	// depends on how they come. See [InEventTime] and [InProcessingTime] for what stands in for either.
	Domain TimeDomain
	// OnRead lets reading a value renew it like writing.
	OnRead bool
}

// Stamped is what is kept of a value with a [TTL]: what [Lookup] and [Scan] read. They may see values that have expired and
// not been removed yet.
type Stamped[V any] struct {
	Value   V
	Written int64 // when, in the domain of the TTL
}

// sweepAtOnce is how many other keys a write looks at, to remove what has expired: memory follows the keys that live, at two
// entries a write instead of a pass over all of them.
const sweepAtOnce = 2

// aging is a store whose values expire.
type aging[K comparable, V any] struct {
	keyed  *Keyed[K]
	store  *store[K, Stamped[V]]
	ttl    TTL
	after  int64
	cursor state.Cursor
	swept  func(*Stamped[V]) bool
}

func newAging[V any, K comparable](op *Keyed[K], name string, version int, ttl TTL) *aging[K, V] {
	a := &aging[K, V]{keyed: op, store: newStore[Stamped[V]](op, name), ttl: ttl, after: ttl.After.Milliseconds()}
	if a.after <= 0 || ttl.Domain >= timeDomains {
		op.task.exec.fail(fmt.Errorf("value %q of %s: time to live of %v: %w", name, op.name, ttl.After, ErrInvalid))
	}
	if a.store != nil {
		a.store.version = version
	}
	a.swept = func(s *Stamped[V]) bool { return addTime(s.Written, a.after) <= a.least() }
	op.keepTime()
	return a
}

// present is the time that decides what the record or timer in work sees.
func (a *aging[K, V]) present() int64 {
	k := a.keyed
	if a.ttl.Domain == InEventTime && k.call == recordCall {
		return max(a.least(), k.ts)
	}
	return a.least()
}

// least is a time before which nothing will be seen any more, by whichever key: timers come in the order of their moments.
func (a *aging[K, V]) least() int64 {
	k := a.keyed
	if a.ttl.Domain == InEventTime && k.call == eventTimer {
		return k.ts
	}
	return k.now(a.ttl.Domain)
}

// stamp is when what is written now is written.
func (a *aging[K, V]) stamp() int64 {
	if a.ttl.Domain == InEventTime && a.keyed.call != processingTimer {
		return a.keyed.ts
	}
	return a.keyed.now(a.ttl.Domain)
}

func (a *aging[K, V]) get(k K) (v V, ok bool) {
	s := a.store.table.Ref(k)
	if s == nil {
		return v, false
	}
	if addTime(s.Written, a.after) <= a.present() {
		a.store.table.Delete(k)
		return v, false
	}
	if a.ttl.OnRead {
		s.Written = max(s.Written, a.stamp())
	}
	return s.Value, true
}

func (a *aging[K, V]) put(k K, v V) {
	s, fresh := a.store.table.Upsert(k)
	stamp := a.stamp()
	if !fresh {
		stamp = max(stamp, s.Written)
	}
	*s = Stamped[V]{v, stamp}
	a.store.table.Sweep(&a.cursor, sweepAtOnce, a.swept)
}
