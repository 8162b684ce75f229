package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
)

// Errors of [Lookup] and [Scan].
var (
	// ErrNoState: no keyed state of the pipeline has this name.
	ErrNoState = errors.New("no such state")
	// ErrStateType: the state has keys or values of another type.
	ErrStateType = errors.New("state of another type")
)

// State is what there is to know about one keyed state, over all subtasks.
type State struct {
	Name string // such as "store-1.sum", or with a uid "orders.sum"
	Key  string // type of the keys, such as "string"
	// Value is the type of the values, such as "int64"; that of a [ListState] of E is []E, that of a [MapState] a map.
	Value string
	Keys  int // how many there are
}

// States lists the keyed state of the pipeline, by name: everything that [Lookup] and [Scan] can read. The sizes are of one
// moment. It waits and is refused as [Pipeline.Cut] does and is.
func (p *Pipeline) States(ctx context.Context) ([]State, error) {
	e, release, err := p.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("list states: %w", err)
	}
	defer release()
	var list []State
	for s := range e.stores() {
		one := s.describe()
		one.Keys = s.size()
		i, found := slices.BinarySearchFunc(list, one, func(a, b State) int { return cmp.Compare(a.Name, b.Name) })
		if found {
			list[i].Keys += one.Keys
			continue
		}
		list = slices.Insert(list, i, one)
	}
	return list, nil
}

// anyStore is one subtask's share of a keyed state of any type.
type anyStore interface {
	part
	stateName() string
	describe() State // without its size
	size() int       // under the lock of its task
}

func (s *store[K, V]) stateName() string { return s.name }

func (s *store[K, V]) describe() State {
	return State{Name: s.name, Key: reflect.TypeFor[K]().String(), Value: reflect.TypeFor[V]().String()}
}

func (s *store[K, V]) size() int { return s.table.Len() }

// stores are all shares of all keyed state.
func (e *execution) stores() iter.Seq[anyStore] {
	return func(yield func(anyStore) bool) {
		for _, part := range e.parts {
			if s, ok := part.(anyStore); ok && !yield(s) {
				return
			}
		}
	}
}

// stateNames gives the names of all keyed state.
func stateNames(e *execution) []string {
	var names []string
	for s := range e.stores() {
		names = append(names, s.stateName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sharesOf finds the shares of all subtasks of a keyed state.
func sharesOf[K comparable, V any](e *execution, name string) ([]*store[K, V], error) {
	var list []*store[K, V]
	for s := range e.stores() {
		if s.stateName() != name {
			continue
		}
		typed, ok := s.(*store[K, V])
		if !ok {
			is, asked := s.describe(), (&store[K, V]{}).describe()
			return nil, fmt.Errorf("%w: its keys are %s and its values %s, asked for are %s and %s",
				ErrStateType, is.Key, is.Value, asked.Key, asked.Value)
		}
		list = append(list, typed)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w; there are %q", ErrNoState, stateNames(e))
	}
	return list, nil
}
