package engine

import "github.com/tidemark-stream/tidemark/engine/state"

// Rebalance deals the records out to all subtasks in turn, so that what follows is shared out where there is no key yet. Their
// order is lost. With one subtask it does nothing. T must be of a type that [state.CodecOf] accepts, see [KeyBy].
func Rebalance[T any](s Stream[T]) Stream[T] {
	op := s.graph().operator("rebalance", "rebalance failed")
	return moved(s, &place{}, op, func(t *task) func(struct{}) int {
		next := t.index
		return func(struct{}) int {
			next = (next + 1) % t.exec.parallelism
			return next
		}
	})
}

// sameSubtask keeps records with the subtask that they are with.
func sameSubtask(t *task) func(struct{}) int { return func(struct{}) int { return t.index } }

// moved is s in another place.
func moved[T any](s Stream[T], to *place, op *operator, router func(*task) func(struct{}) int) Stream[T] {
	keys, err := state.CodecOf[struct{}]()
	s.graph().fail(op.name, err)
	m := newStream[T](s.graph(), origin{to, s.origin().timed, s.origin().sparse}, nil)
	m.n.make = func(t *task, out *output[T]) []input {
		if !t.parallel() {
			return s.connect(t, out)
		}
		x := exchangeOf(t.exec, exchangeKind[struct{}, T]{
			id: m.n, op: op, keys: keys, from: s.n.at, to: to, router: router,
			sender: func(u *task, next *keyedOutput[struct{}, T]) []input { return s.connect(u, leaving[T]{next}) },
		})
		return []input{x.receive(t, &keyedOutput[struct{}, T]{keyedReceiver: arriving[T]{output: out}})}
	}
	return m
}

// leaving hands records without a key to an exchange.
type leaving[T any] struct{ out *keyedOutput[struct{}, T] }

func (o leaving[T]) record(v T, ts int64) error { return o.out.keyed(struct{}{}, v, ts) }
func (o leaving[T]) watermark(wm int64) error   { return o.out.watermark(wm) }
func (o leaving[T]) idle(idle bool) error       { return o.out.idle(idle) }

// arriving takes them out again.
type arriving[T any] struct {
	*output[T]
	noRecordTime
}

func (o arriving[T]) keyed(_ struct{}, v T, ts int64) error { return o.record(v, ts) }
