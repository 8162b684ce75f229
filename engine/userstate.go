package engine

import (
	"bytes"
	"fmt"
)

// RegisterSnapshotSource puts state of the user's own into the cut, under a name that no operator has. Both functions run
// under the checkpoint lock, and never while a record is in work but one that asks itself: so they must not block, nor ask the
// pipeline for anything that takes the lock (a cut, a checkpoint, a query), which would wait for itself until its context ends.
// snapshot returns bytes that the engine copies; an error or panic fails the cut as a whole. restore gets the bytes back in either
// [RestoreMode] and from [Checkpoints.Restore], before anything of the engine's own is restored; an error or panic fails the restore.
func RegisterSnapshotSource(g *Graph, name string, snapshot func() ([]byte, error), restore func([]byte) error) {
	g.need(&operator{name: "snapshot source " + name}, "function", snapshot != nil && restore != nil)
	g.fail("snapshot source", checkName(name))
	g.extra = append(g.extra, userState{name: name, snapshot: snapshot, restore: restore})
}

// userState is what RegisterSnapshotSource registers.
type userState struct {
	name     string
	snapshot func() ([]byte, error)
	restore  func([]byte) error
	loaded   []byte
}

func (u *userState) partName() string { return u.name }

func (u *userState) cut(int64) ([]Item, error) {
	var b []byte
	err := guard(func() (err error) {
		b, err = u.snapshot()
		return err
	})
	if err != nil {
		return nil, err
	}
	return []Item{bytesItem(u.name, bytes.Clone(b))}, nil
}

func (u *userState) load(items *items, _ RestoreMode) (func(), error) {
	b, err := items.take(u.name)
	if err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: u.name, Content: fmt.Sprintf("%d bytes", len(b))})
	u.loaded = bytes.Clone(b)
	return func() {}, nil
}
