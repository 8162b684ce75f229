package engine

import "fmt"

// ReducingState combines what is added per key into one value. Like [Value] it may be used inside the [ProcessFunc] that it
// was declared for, and panics with [ErrNoKey] anywhere else.
type ReducingState[K comparable, T any] struct {
	v *Value[K, T]
	f func(acc, v T) T
}

// ReducingOf declares a value per key that f combines with each that is added; the first stands for itself. See [ValueOf] for
// name and type.
func ReducingOf[T any, K comparable](op *Keyed[K], name string, f func(acc, v T) T) *ReducingState[K, T] {
	op.need(name, f != nil)
	return &ReducingState[K, T]{ValueOf[T](op, name), f}
}

// Add takes in v.
func (r *ReducingState[K, T]) Add(v T) {
	if acc, some := r.v.Lookup(); some {
		v = r.f(acc, v)
	}
	r.v.Put(v)
}

// Get gives what has been added, combined, and whether anything has been.
func (r *ReducingState[K, T]) Get() (T, bool) { return r.v.Lookup() }

// Clear forgets the value of the current key.
func (r *ReducingState[K, T]) Clear() { r.v.Clear() }

// AggregatingState folds what is added per key into an accumulator. Like [Value] it may be used inside the [ProcessFunc] that
// it was declared for, and panics with [ErrNoKey] anywhere else.
type AggregatingState[K comparable, T, Acc, R any] struct {
	v *Value[K, Acc]
	a Aggregation[T, Acc, R]
}

// AggregatingOf declares an accumulator per key; Merge of a is not used. See [ValueOf] for name and type.
func AggregatingOf[T, Acc, R any, K comparable](op *Keyed[K], name string, a Aggregation[T, Acc, R]) *AggregatingState[K, T, Acc, R] {
	op.need(name, a.Add != nil && a.Result != nil)
	return &AggregatingState[K, T, Acc, R]{ValueOf[Acc](op, name), a}
}

// Add takes in v.
func (s *AggregatingState[K, T, Acc, R]) Add(v T) {
	acc, some := s.v.Lookup()
	if !some && s.a.New != nil {
		acc = s.a.New()
	}
	s.v.Put(s.a.Add(acc, v))
}

// Get gives the result of what has been added, and whether anything has been.
func (s *AggregatingState[K, T, Acc, R]) Get() (R, bool) {
	acc, some := s.v.Lookup()
	if !some {
		return *new(R), false
	}
	return s.a.Result(acc), true
}

// Clear forgets the accumulator of the current key.
func (s *AggregatingState[K, T, Acc, R]) Clear() { s.v.Clear() }

// need keeps an error for Build if the function of a state is missing.
func (op *Keyed[K]) need(state string, present bool) {
	if !present {
		op.task.exec.fail(fmt.Errorf("function of %q of %s: %w", state, op.name, ErrNil))
	}
}
