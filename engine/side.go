package engine

import "fmt"

// SideOutput is a tag for records that leave an operator beside its results, such as late ones. It is a value of one graph's
// construction: one operator writes to it, any number of streams read it ([Side]).
type SideOutput[T any] struct {
	name string
}

// NewSideOutput makes a tag. The name is for messages alone.
func NewSideOutput[T any](name string) *SideOutput[T] { return &SideOutput[T]{name: name} }

// Side is the stream of what an operator before s, or that of s itself, sends to tag. Records keep the timestamps they are
// sent with, and watermarks are those of the operator. Nobody need consume s itself. A tag that no such operator has is
// reported by Build; with several subtasks, so is one whose operator lies before a [KeyBy] that s comes behind.
func Side[T, Main any](s Stream[Main], tag *SideOutput[T]) Stream[T] {
	g := s.graph()
	op := g.operator("side", "side output failed")
	g.need(op, "side output", tag != nil)
	return newStream(g, s.origin(), func(t *task, out *output[T]) []input {
		p := portOf(t, tag)
		p.out.add(out)
		return s.build(t)
	})
}

// port is a side output within a task.
type port[T any] struct {
	name  string
	owner string // the operator that writes to it
	out   output[T]
}

// portOf finds the port of tag, which whoever comes first makes.
func portOf[T any](t *task, tag *SideOutput[T]) *port[T] {
	p, ok := t.ports[tag].(*port[T])
	if !ok {
		p = &port[T]{name: tag.name}
		t.ports[tag] = p
		t.exec.checks = append(t.exec.checks, p.check)
	}
	return p
}

// own gives the port to the operator that writes to it; nil stays nil.
func own[T any](t *task, tag *SideOutput[T], operator string) *port[T] {
	if tag == nil {
		return nil
	}
	p := portOf(t, tag)
	if p.owner != "" {
		t.exec.fail(fmt.Errorf("side output %q of %s belongs to %s: %w", p.name, operator, p.owner, ErrName))
	}
	p.owner = operator
	return p
}

func (p *port[T]) check() error {
	if p.owner == "" {
		return fmt.Errorf("no operator in the place of its stream writes to side output %q; read it from the stream of the operator "+
			"that does: %w", p.name, ErrInvalid)
	}
	return nil
}

// used says whether anybody reads the port.
func (p *port[T]) used() bool { return p != nil && p.out.receiver != nil }

func (p *port[T]) watermark(wm int64) error {
	if !p.used() {
		return nil
	}
	return p.out.watermark(wm)
}

func (p *port[T]) idle(idle bool) error {
	if !p.used() {
		return nil
	}
	return p.out.idle(idle)
}
