package engine

import (
	"context"
	"fmt"
)

// rescale goes on with another number of subtasks than the cut has that was adopted. What was under way between the subtasks
// of the cut is processed first, in as many: that is a course which the run before could have taken. Then nothing is under
// way, every subtask has the same watermark, and the key groups can be dealt out anew.
func (p *Pipeline) rescale(ctx context.Context) error {
	next := p.next
	if next == nil {
		return nil
	}
	old := p.exec.Load()
	if err := old.open(ctx); err != nil {
		return err
	}
	if err := old.settle(ctx); err != nil {
		return err
	}
	if err := old.acquire(ctx); err != nil {
		return err
	}
	defer old.release()
	if err := next.takeOver(old); err != nil {
		return fmt.Errorf("go on with %d subtasks instead of %d: %w", next.parallelism, old.parallelism, err)
	}
	p.next = nil
	p.exec.Store(next)
	return nil
}

// settle processes what is under way, place by place: behind the last nothing is. No cut is taken meanwhile.
func (e *execution) settle(ctx context.Context) error {
	if err := e.cutting.acquire(ctx); err != nil {
		return err
	}
	defer e.cutting.release()
	defer context.AfterFunc(ctx, func() { e.stop.Store(true) })()
	e.settling = true
	for _, at := range e.inOrder() {
		for _, t := range e.places[at] {
			for _, in := range t.inputs {
				if err := in.settle(t); err != nil {
					return err
				}
			}
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	e.settling = false
	return nil
}

// inOrder gives the places, each behind all that it gets records from.
func (e *execution) inOrder() []*place {
	depth := make(map[*place]int)
	for range e.places { // no path is longer
		for _, edge := range e.edges {
			depth[edge.to] = max(depth[edge.to], depth[edge.from]+1)
		}
	}
	var list []*place
	for d := 0; len(list) < len(e.places); d++ {
		for at := range e.places {
			if depth[at] == d {
				list = append(list, at)
			}
		}
	}
	return list
}

// takeOver loads the state of old, which has come to rest.
func (e *execution) takeOver(old *execution) error {
	s := &items{bytes: make(map[string][]byte), parallelism: old.parallelism, taken: make(map[string]bool)}
	for _, part := range old.parts {
		list, err := part.cut(0)
		if err != nil {
			return fmt.Errorf("%s: %w", part.partName(), err)
		}
		for _, i := range list {
			if s.bytes[i.Name], err = i.Encode(); err != nil {
				return err
			}
		}
	}
	commit, err := e.pipeline.load(s, e.parts, Adopt)
	if err != nil {
		return err
	}
	commit()
	past := old.progress()
	e.past = &past
	e.adopted = true
	e.publish()
	return nil
}
