package engine

import "fmt"

// OutputTo declares that the [ProcessFunc] being set up sends records to tag as well ([Side]). The function it returns does
// so, with the timestamp of the record in work; outside of a record's function it panics with [ErrNoKey]. What nobody reads
// is dropped.
func OutputTo[T any, K comparable](op *Keyed[K], tag *SideOutput[T]) func(T) {
	op.declare("side output")
	if tag == nil {
		op.task.exec.fail(fmt.Errorf("side output of %s: %w", op.name, ErrNil))
		return func(T) {}
	}
	p := own(op.task, tag, op.name)
	op.sides = append(op.sides, p)
	return func(v T) {
		if !op.valid {
			panic(fmt.Errorf("side output %q of %s: %w", p.name, op.name, ErrNoKey))
		}
		if op.err == nil && p.used() {
			at := op.task.at
			op.err = p.out.record(v, op.ts)
			op.task.at = at
		}
	}
}

// sidePort is a port of any type.
type sidePort interface{ signals }
