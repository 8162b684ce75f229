package engine

// Map applies f to every record. The timestamp stays.
func Map[In, Out any](s Stream[In], f func(In) Out) Stream[Out] {
	g := s.graph()
	op := g.operator("map", "map function failed")
	g.need(op, "function", f != nil)
	return newStream(g, s.origin(), func(t *task, out *output[Out]) []input {
		return s.connect(t, &mapOp[In, Out]{task: t, op: op, f: f, relay: relay[Out]{out}})
	})
}

type mapOp[In, Out any] struct {
	task *task
	op   *operator
	f    func(In) Out
	relay[Out]
}

func (o *mapOp[In, Out]) record(v In, ts int64) error {
	o.task.at = o.op
	return o.out.record(o.f(v), ts)
}

// TryMap is Map with a function that may fail, which ends the run, and that gets the record's [Context].
func TryMap[In, Out any](s Stream[In], f func(Context, In) (Out, error)) Stream[Out] {
	g := s.graph()
	op := g.operator("map", "map function failed")
	g.need(op, "function", f != nil)
	return newStream(g, s.origin(), func(t *task, out *output[Out]) []input {
		t.fenced = true
		return s.connect(t, &tryMapOp[In, Out]{task: t, op: op, f: f, relay: relay[Out]{out}})
	})
}

type tryMapOp[In, Out any] struct {
	task *task
	op   *operator
	f    func(Context, In) (Out, error)
	relay[Out]
}

func (o *tryMapOp[In, Out]) record(v In, ts int64) error {
	o.task.at = o.op
	w, err := o.f(o.task.context(ts), v)
	if err != nil {
		return o.task.fault(o.op, err)
	}
	return o.out.record(w, ts)
}

// Filter keeps the records for which keep says true.
func Filter[T any](s Stream[T], keep func(T) bool) Stream[T] {
	g := s.graph()
	op := g.operator("filter", "filter function failed")
	g.need(op, "function", keep != nil)
	return newStream(g, s.origin(), func(t *task, out *output[T]) []input {
		return s.connect(t, &filterOp[T]{task: t, op: op, keep: keep, relay: relay[T]{out}})
	})
}

type filterOp[T any] struct {
	task *task
	op   *operator
	keep func(T) bool
	relay[T]
}

func (o *filterOp[T]) record(v T, ts int64) error {
	o.task.at = o.op
	if !o.keep(v) {
		return nil
	}
	return o.out.record(v, ts)
}

// FlatMap lets f emit any number of records for each one. The timestamp stays. emit is valid until f returns.
func FlatMap[In, Out any](s Stream[In], f func(in In, emit func(Out))) Stream[Out] {
	g := s.graph()
	op := g.operator("flat-map", "flat-map function failed")
	g.need(op, "function", f != nil)
	return newStream(g, s.origin(), func(t *task, out *output[Out]) []input {
		return s.connect(t, &flatMapOp[In, Out]{f: f, emitter: newEmitter(t, op, out)})
	})
}

type flatMapOp[In, Out any] struct {
	*emitter[Out]
	f func(in In, emit func(Out))
}

func (o *flatMapOp[In, Out]) record(v In, ts int64) error {
	o.begin(ts)
	o.f(v, o.emit)
	return o.end(nil)
}

// TryFlatMap is FlatMap with a function that may fail, which ends the run, and that gets the record's [Context].
func TryFlatMap[In, Out any](s Stream[In], f func(c Context, in In, emit func(Out)) error) Stream[Out] {
	g := s.graph()
	op := g.operator("flat-map", "flat-map function failed")
	g.need(op, "function", f != nil)
	return newStream(g, s.origin(), func(t *task, out *output[Out]) []input {
		t.fenced = true
		return s.connect(t, &tryFlatMapOp[In, Out]{f: f, emitter: newEmitter(t, op, out)})
	})
}

type tryFlatMapOp[In, Out any] struct {
	*emitter[Out]
	f func(c Context, in In, emit func(Out)) error
}

func (o *tryFlatMapOp[In, Out]) record(v In, ts int64) error {
	o.begin(ts)
	return o.end(o.f(o.task.context(ts), v, o.emit))
}

// emitter is the sending half of an operator whose function emits by calling. One closure serves all records, so that
// emitting does not allocate; the first error is kept until the function returns.
type emitter[Out any] struct {
	task *task
	op   *operator
	emit func(Out)
	ts   int64
	err  error
	relay[Out]
}

func newEmitter[Out any](t *task, op *operator, out *output[Out]) *emitter[Out] {
	e := &emitter[Out]{task: t, op: op, relay: relay[Out]{out}}
	e.emit = func(v Out) {
		if e.err == nil {
			at := e.task.at
			e.err = e.out.record(v, e.ts)
			e.task.at = at
		}
	}
	return e
}

// begin names the operator for panics and sets the timestamp of what will be emitted.
func (e *emitter[Out]) begin(ts int64) {
	e.task.at = e.op
	e.ts, e.err = ts, nil
}

// end gives the first error: of what follows, else of the function itself.
func (e *emitter[Out]) end(err error) error {
	if e.err != nil {
		return e.err
	}
	if err != nil {
		return e.task.fault(e.op, err)
	}
	return nil
}
