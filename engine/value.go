package engine

import (
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// ErrNoKey is the panic of keyed state, or a timer, that is used outside of a record's or timer's function.
var ErrNoKey = errors.New("no current key")

// Value is one value per key. It may be used inside the [ProcessFunc] that it was declared for, which sees the value of the
// current key; anywhere else it panics with [ErrNoKey].
type Value[K comparable, V any] struct {
	keyed   *Keyed[K]
	name    string
	store   *store[K, V]
	aging   *aging[K, V] // instead of store, with a time to live
	vals    state.Codec[V]
	flat    bool
	initial V
}

// ValueOf declares a value of type V per key, under a name that is unique in the operator. It is part of the cut as
// "store-N.name". V must be of a type that [state.CodecOf] accepts.
func ValueOf[V any, K comparable](op *Keyed[K], name string) *Value[K, V] {
	v := valueOf[V](op, name)
	v.store = newStore[V](op, name)
	return v
}

// valueOf is a value without a store.
func valueOf[V any, K comparable](op *Keyed[K], name string) *Value[K, V] {
	op.declare("value " + name)
	vals, err := state.CodecOf[V]()
	if err == nil {
		err = checkName(name)
	}
	v := &Value[K, V]{keyed: op, name: name, vals: vals}
	if err != nil {
		op.task.exec.fail(fmt.Errorf("value %q of %s: %w", name, op.name, err))
		return v
	}
	v.flat = vals.Flat()
	return v
}

// newStore registers a table of the operator. What is wrong with name or type is reported by [valueOf].
func newStore[V any, K comparable](op *Keyed[K], name string) *store[K, V] {
	vals, err := state.CodecOf[V]()
	if err != nil || checkName(name) != nil {
		return nil
	}
	table := state.NewTable(op.task.cfg.MaxParallelism, state.Hasher(op.keys), op.keys, vals)
	s := &store[K, V]{scope: op.task.scope(op.name + "." + name), table: table}
	op.task.exec.register(s)
	return s
}

// current is the key of the record in work.
func (v *Value[K, V]) current() K {
	if !v.keyed.valid {
		panic(fmt.Errorf("value %s.%s: %w", v.keyed.name, v.name, ErrNoKey))
	}
	return v.keyed.key
}

// Lookup gives the value of the current key, and whether there is one.
func (v *Value[K, V]) Lookup() (V, bool) {
	k := v.current()
	if v.aging != nil {
		return v.aging.get(k)
	}
	if v.flat {
		return v.store.table.Get(k)
	}
	// The caller may change what the value refers to, so it must not be part of a cut.
	if p := v.store.table.Ref(k); p != nil {
		return *p, true
	}
	return *new(V), false
}

// Get gives the value of the current key, else the default of its [Descriptor], else the zero value.
func (v *Value[K, V]) Get() V {
	val, ok := v.Lookup()
	if ok {
		return val
	}
	if v.flat {
		return v.initial
	}
	return v.fresh()
}

// fresh is a copy of the default that the caller may change.
func (v *Value[K, V]) fresh() V {
	val, err := v.vals.Clone(&v.initial)
	if err != nil {
		panic(err) // only a marshaller of the user's own can fail
	}
	return val
}

// Put sets the value of the current key. The engine owns what val refers to from here on.
func (v *Value[K, V]) Put(val V) {
	if v.aging != nil {
		v.aging.put(v.current(), val)
		return
	}
	v.store.table.Put(v.current(), val)
}

// Clear removes the value of the current key.
func (v *Value[K, V]) Clear() {
	if v.aging != nil {
		v.aging.store.table.Delete(v.current())
		return
	}
	v.store.table.Delete(v.current())
}
