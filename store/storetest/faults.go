package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrInjected is the error of a [Fault] that names no other.
var ErrInjected = errors.New("injected fault")

// Op names a method of a store.
type Op string

// The methods of [store.Store] and [store.JobStore] that reach the backend. AnyOp matches all of them.
const (
	AnyOp       Op = ""
	OpCreate    Op = "create"
	OpStore     Op = "store"
	OpLoad      Op = "load"
	OpList      Op = "list"
	OpLatest    Op = "latest"
	OpHighestID Op = "highest_id"
	OpComplete  Op = "complete"
	OpDelete    Op = "delete"
	OpCleanup   Op = "cleanup"
	OpPutChunk  Op = "put_chunk"
	OpGetChunk  Op = "get_chunk"
	OpKeep      Op = "keep"
	OpRelease   Op = "release"
)

// When says what a fault does to a call.
type When int

const (
	// Before fails the call and nothing happens.
	Before When = iota
	// After lets the call happen and then fails it: the caller does not know.
	After
	// Hang blocks the call until its context is done, and then nothing happens, or until the fault is removed, and then
	// it happens.
	Hang
)

// Fault is one thing that goes wrong.
type Fault struct {
	Op    Op    // which method; AnyOp is the default
	When  When  // default Before
	Skip  int   // so many matching calls go well first
	Times int   // so many calls are hit; 0 means one, -1 all
	Err   error // default ErrInjected; not used by Hang
}

// Faults are the faults of one or more wrapped stores. The zero value has none and is ready; it may be changed while
// the stores are in use.
type Faults struct {
	mu    sync.Mutex
	armed []*Injection // guarded by mu
	calls map[Op]int   // guarded by mu
}

// Injection is a fault that is armed.
type Injection struct {
	fault   Fault
	faults  *Faults
	entered chan struct{} // closed by the first call that is hit
	removed chan struct{} // closed by Remove
	hits    int           // guarded by faults.mu
	gone    bool          // guarded by faults.mu
}

// Add arms a fault. Faults added earlier are asked first; the first that hits a call decides.
func (f *Faults) Add(fault Fault) *Injection {
	if fault.Times == 0 {
		fault.Times = 1
	}
	if fault.Err == nil {
		fault.Err = ErrInjected
	}
	in := &Injection{fault: fault, faults: f, entered: make(chan struct{}), removed: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = append(f.armed, in)
	return in
}

// Clear removes all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	armed := slices.Clone(f.armed)
	f.mu.Unlock()
	for _, in := range armed {
		in.Remove()
	}
}

// Calls says how many calls of op have come in, whatever became of them; of all methods for [AnyOp].
func (f *Faults) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != AnyOp {
		return f.calls[op]
	}
	n := 0
	for _, c := range f.calls {
		n += c
	}
	return n
}

// Remove disarms the fault and lets go on whatever hangs in it. Removing twice is harmless.
func (in *Injection) Remove() {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	if in.gone {
		return
	}
	in.gone = true
	close(in.removed)
	in.faults.armed = slices.DeleteFunc(in.faults.armed, func(other *Injection) bool { return other == in })
}

// Entered is closed when the first call has been hit: a test waits on it instead of sleeping.
func (in *Injection) Entered() <-chan struct{} { return in.entered }

// Hits says how many calls have been hit.
func (in *Injection) Hits() int {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	return in.hits
}

// run does call under the armed faults.
func (f *Faults) run(ctx context.Context, op Op, call func() error) error {
	in := f.hit(op)
	if in == nil {
		return call()
	}
	switch in.fault.When {
	case Before:
		return in.fault.Err
	case After:
		if err := call(); err != nil {
			return err
		}
		return in.fault.Err
	case Hang:
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-in.removed:
			return call()
		}
	}
	return call()
}

// hit counts the call and returns the fault that it runs into.
func (f *Faults) hit(op Op) *Injection {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[Op]int{}
	}
	f.calls[op]++
	for _, in := range f.armed {
		if in.fault.Op != AnyOp && in.fault.Op != op {
			continue
		}
		if in.fault.Skip > 0 {
			in.fault.Skip--
			continue
		}
		if in.fault.Times == 0 {
			continue
		}
		if in.fault.Times > 0 {
			in.fault.Times--
		}
		if in.hits++; in.hits == 1 {
			close(in.entered)
		}
		return in
	}
	return nil
}
