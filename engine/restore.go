package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Restore prepares the pipeline with the items of a cut of the same graph, before Run; the cut may be that of another number of
// subtasks. It is strict: an item that is missing, unknown or unreadable is an error that names it (see
// [Config].AllowNonRestored). The cut is taken whole: after an error of an item the pipeline is as it was; only functions of
// [RegisterSnapshotSource] that had been called before one of them failed have run.
func (p *Pipeline) Restore(ctx context.Context, cut map[string][]byte, mode RestoreMode) error {
	if mode != Fresh && mode != Adopt {
		return fmt.Errorf("restore in mode %d: %w", mode, ErrInvalid)
	}
	if p.started.Load() {
		return fmt.Errorf("restore: %w", ErrStarted)
	}
	e, err := p.acquire(ctx)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer e.release()
	if p.started.Load() { // meanwhile; and if not, Run waits for the lock
		return fmt.Errorf("restore: %w", ErrStarted)
	}
	in, err := newItems(cut)
	if err == nil {
		err = p.restore(in, mode)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	p.mirror.Store(&in.mirror)
	return nil
}

// restore loads a cut into an execution of as many subtasks. If the pipeline is to have another number, that one goes on from
// there when the run begins.
func (p *Pipeline) restore(in *items, mode RestoreMode) error {
	if most := p.graph.cfg.MaxParallelism; in.parallelism > most {
		return fmt.Errorf("%q: %d subtasks with %d key groups: %w", parallelismItem, in.parallelism, most, ErrCorrupt)
	}
	e := p.exec.Load()
	if p.next != nil {
		e = p.next
	}
	if e.adopted || p.next != nil { // nothing of the cut that was restored before is to be left
		e = newExecution(p, e.parallelism)
		if e.build(); len(e.errs) > 0 {
			return errors.Join(e.errs...)
		}
	}
	old := e
	if in.parallelism != e.parallelism {
		old = newExecution(p, in.parallelism)
		if old.build(); len(old.errs) > 0 {
			return fmt.Errorf("lay the graph out over %d subtasks, as at the cut: %w", in.parallelism, errors.Join(old.errs...))
		}
	}
	parts := slices.Concat(p.parts, old.parts)
	commit, err := p.load(in, parts, mode)
	if errors.Is(err, ErrMissingItem) {
		return fmt.Errorf("%w; no operator takes %q of the cut; WithUID keeps names over changes of the graph, Config.AllowNonRestored "+
			"lets a new operator start with nothing", err, in.unasked(parts))
	}
	if err != nil {
		return err
	}
	left := in.rest()
	if len(left) > 0 && !p.graph.cfg.AllowNonRestored {
		return fmt.Errorf("%q: %w: its operator is gone or has another name; WithUID keeps names over changes of the graph, "+
			"Config.AllowNonRestored drops the state", statesOf(left), ErrUnknownItem)
	}
	if err := p.handBack(in); err != nil {
		return err
	}
	commit()
	old.adopted = mode == Adopt
	old.publish()
	// Whoever sees the execution that is stored last sees all that was written before: its locks are not held here.
	p.next = nil
	if old != e && mode == Adopt {
		p.next, e = e, old
	}
	p.exec.Store(e)
	return nil
}

// handBack gives the user's own state back.
func (p *Pipeline) handBack(in *items) error {
	for _, u := range p.users() {
		if !in.has(u.name) {
			continue
		}
		if err := guard(func() error { return u.restore(u.loaded) }); err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
	}
	return nil
}

// load reads the items of parts, and returns what puts them in place.
func (p *Pipeline) load(in *items, parts []part, mode RestoreMode) (commit func(), err error) {
	var commits []func()
	for _, part := range parts {
		if p.graph.cfg.AllowNonRestored && !in.hasAny(part.partName()) {
			continue
		}
		commit, err := part.load(in, mode)
		if err != nil {
			if name := part.partName(); !strings.HasPrefix(err.Error(), strconv.Quote(name)) {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return nil, err
		}
		commits = append(commits, commit)
	}
	return func() {
		for _, commit := range commits {
			commit()
		}
	}, nil
}

// items is a cut on its way back: each item is taken by its owner.
type items struct {
	bytes       map[string][]byte
	parallelism int // that of the cut
	taken       map[string]bool
	mirror      []iter.Seq[Entry]
}

// parallelismItem names the item that says how many subtasks a cut is of. There is none of a cut of one.
const parallelismItem = "parallelism"

// newItems finds out how many subtasks a cut is of.
func newItems(cut map[string][]byte) (*items, error) {
	i := &items{bytes: cut, parallelism: 1, taken: make(map[string]bool)}
	if !i.has(parallelismItem) {
		return i, nil
	}
	b, err := i.take(parallelismItem)
	if err != nil {
		return nil, err
	}
	d := newDecoder(b, 'P')
	n := d.uvarint()
	if err := d.finish(); err != nil {
		return nil, fmt.Errorf("%q: %w", parallelismItem, err)
	}
	if n < 2 || n > maxParallelism {
		return nil, fmt.Errorf("%q: %d subtasks: %w", parallelismItem, n, ErrCorrupt)
	}
	i.parallelism = int(n)
	return i, nil
}

func (i *items) has(name string) bool {
	_, ok := i.bytes[name]
	return ok
}

func (i *items) take(name string) ([]byte, error) {
	b, ok := i.bytes[name]
	if !ok {
		return nil, fmt.Errorf("%q: %w", name, ErrMissingItem)
	}
	i.taken[name] = true
	return b, nil
}

// note adds lines to the mirror. They are made when they are read.
func (i *items) note(entries iter.Seq[Entry]) { i.mirror = append(i.mirror, entries) }

// noteOne adds one line.
func (i *items) noteOne(e Entry) { i.note(func(yield func(Entry) bool) { yield(e) }) }

// statesOf gives the names of the states that items are of: without key group and subtask.
func statesOf(items []string) []string {
	var names []string
	for _, name := range items {
		name, _, _ = strings.Cut(name, "/")
		name, _, _ = strings.Cut(name, "@")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unasked gives the names of the states that no part has.
func (i *items) unasked(parts []part) []string {
	asked := []string{parallelismItem}
	for _, p := range parts {
		asked = append(asked, p.partName())
	}
	asked = statesOf(asked)
	return slices.DeleteFunc(statesOf(slices.Collect(maps.Keys(i.bytes))), func(name string) bool { return slices.Contains(asked, name) })
}

// rest gives the names of what nobody has taken.
func (i *items) rest() []string {
	var left []string
	for name := range i.bytes {
		if !i.taken[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// hasAny says whether there is something of a part, of whichever subtask. The first need not have any: it does not have all
// sources.
func (i *items) hasAny(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	for subtask := range i.parallelism {
		if i.has(subtaskName(name, subtask)) {
			return true
		}
	}
	return false
}

// appendParallelism writes the number of subtasks: 'P' 1 | subtasks.
func appendParallelism(b []byte, n int) []byte {
	return binary.AppendUvarint(append(b, 'P', itemVersion), uint64(n))
}
