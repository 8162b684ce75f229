package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// Lookup reads the value that a key has in a keyed state of the pipeline, and whether there is one: V is the type of the
// values as [Pipeline.States] shows it. The value is the caller's own, down to the last slice. It works before, during and after
// the run, but not after a record has failed ([ErrFailed]), and changes nothing.
//
// It waits for the record in work of the one subtask that has the key, and no longer than ctx. From inside a record, with its
// [Context], it sees what the record has written so far, if that subtask is the record's own; else it is refused ([ErrInRecord]).
// A name or type that there is not is an error that says what there is ([ErrNoState], [ErrStateType]).
func Lookup[V any, K comparable](ctx context.Context, p *Pipeline, name string, key K) (v V, ok bool, err error) {
	for again := true; again && err == nil; {
		v, ok, again, err = lookup[V](ctx, p, p.exec.Load(), name, key)
	}
	if err != nil {
		return *new(V), false, fmt.Errorf("look up in %s: %w", name, err)
	}
	return v, ok, nil
}

// lookup reads from one execution; again says that another has taken over meanwhile.
func lookup[V any, K comparable](
	ctx context.Context, p *Pipeline, e *execution, name string, key K,
) (v V, ok, again bool, err error) {
	shares, err := sharesOf[K, V](e, name)
	if err != nil {
		return v, false, false, err
	}
	s := shares[slices.IndexFunc(shares, func(s *store[K, V]) bool { return s.owns(s.table.GroupOf(key)) })]
	if c, inside := p.record(ctx); inside {
		if c.task != s.task {
			return v, false, false, ErrInRecord
		}
		v, ok, err = s.table.Copy(key)
		return v, ok, false, err
	}
	if err := s.task.lock.acquire(ctx); err != nil {
		return v, false, false, fmt.Errorf("wait for the record in work: %w", err)
	}
	defer s.task.lock.release()
	if s.task.failed != nil {
		return v, false, false, fmt.Errorf("%w: %w", ErrFailed, s.task.failed)
	}
	v, ok, err = s.table.Copy(key)
	return v, ok, p.exec.Load() != e, err
}

// Scan reads a whole keyed state of the pipeline, with K and V as [Pipeline.States] shows them: all of one moment, in no
// particular order, as often as liked. Taking the view costs O(key groups) under the locks of all subtasks; reading it takes no
// lock, and does not hold up the run. Values are the caller's own. Reading panics where a marshaller of the user's own fails.
//
// It waits and is refused as [Pipeline.Cut] does and is; see [Lookup] for names and types.
func Scan[K comparable, V any](ctx context.Context, p *Pipeline, name string) (iter.Seq2[K, V], error) {
	views, err := freeze[K, V](ctx, p, name)
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", name, err)
	}
	return func(yield func(K, V) bool) {
		for _, view := range views {
			for k, v := range view.Copies() {
				if !yield(k, v) {
					return
				}
			}
		}
	}, nil
}

// freeze gives a view of each subtask's share, all of one moment.
func freeze[K comparable, V any](ctx context.Context, p *Pipeline, name string) (views []*state.Frozen[K, V], err error) {
	e, release, err := p.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	shares, err := sharesOf[K, V](e, name)
	for _, s := range shares {
		views = append(views, s.table.Freeze())
	}
	return views, err
}
