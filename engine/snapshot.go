package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// Errors of [Pipeline.Cut] and [Pipeline.Restore].
var (
	// ErrFailed: the run has failed inside a record, so there is no consistent state to cut.
	ErrFailed = errors.New("pipeline has failed")
	// ErrStarted: the pipeline has been run already; a pipeline is one run.
	ErrStarted = errors.New("pipeline has been run")
	// ErrMissingItem: the cut lacks an item that this graph needs.
	ErrMissingItem = errors.New("missing item")
	// ErrUnknownItem: the cut has an item that this graph has no use for.
	ErrUnknownItem = errors.New("unknown item")
	// ErrNotSeekable: the cut cannot be adopted, since the source cannot continue from a position.
	ErrNotSeekable = errors.New("source cannot seek")
	// ErrCorrupt: an item is not what the engine writes.
	ErrCorrupt = errors.New("corrupt item")
	// ErrVersion: an item has a layout that this engine does not know.
	ErrVersion = errors.New("unknown layout version")
)

// RestoreMode says what becomes of a cut.
type RestoreMode int

const (
	// Fresh checks the cut and shows it ([Pipeline.Mirror]), and starts from nothing: sources read everything again, so
	// taking counts from the cut would count twice. State registered by [RegisterSnapshotSource] is handed back.
	Fresh RestoreMode = iota
	// Adopt continues from the cut: source positions, keyed state, watermarks, windows and sink positions together. Every
	// source must be able to seek.
	Adopt
)

// Snapshot is one cut: everything that the graph knows, at one moment between two records.
type Snapshot struct {
	// ID is the id that the cut was asked for under.
	ID int64
	// Items are the chunks of the cut, in the order of registration. Each is encoded on its own.
	Items []Item
}

// Item is one chunk of a cut: a key group, a position, a watermark. It is deep: what happens in the pipeline after the cut
// does not change it.
type Item struct {
	// Name is unique in its snapshot and the same in each: "source-1", "window-1/00017".
	Name   string
	encode func() ([]byte, error)
}

// Encode gives the bytes of the item. It is called outside every lock, from any goroutine, any number of times; equal
// content gives equal bytes. For a file sink it first makes the rows of the cut durable, and fails if that does.
func (i Item) Encode() ([]byte, error) {
	b, err := i.encode()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", i.Name, err)
	}
	return b, nil
}

func bytesItem(name string, b []byte) Item {
	return Item{Name: name, encode: func() ([]byte, error) { return slices.Clone(b), nil }}
}

// Entry is one line of the mirror of a restored cut, as text.
type Entry struct {
	Item    string        // which chunk it stands in, such as "window-1/00017"
	Key     string        // of keyed state, else empty
	Window  window.Window // of windows, else zero
	Last    int64         // latest timestamp in a window's bucket
	Content string        // value, accumulator or position
}

// part is one owner of state in the cut.
type part interface {
	partName() string
	// cut gives the part's items as they are now. Under the lock: memory work only, O(key groups).
	cut(id int64) ([]Item, error)
	// load reads the part's items into something new; commit puts that in place of the live state and cannot fail.
	load(items *items, mode RestoreMode) (commit func(), err error)
}

// register adds a part to the cut.
func (t *task) register(p part) {
	name := p.partName()
	err := checkName(name)
	if err == nil && t.names[name] {
		err = fmt.Errorf("%q is taken: %w", name, ErrName)
	}
	if err != nil {
		t.errs = append(t.errs, fmt.Errorf("register state: %w", err))
		return
	}
	t.names[name] = true
	t.parts = append(t.parts, p)
}

// name makes the next name of a kind that state is kept under: "window-1", "window-2".
func (t *task) name(kind string) string {
	t.counts[kind]++
	return fmt.Sprintf("%s-%d", kind, t.counts[kind])
}

// RegisterSnapshotSource puts state of the user's own into the cut, under a name that no operator has. Both functions run
// under the checkpoint lock, so they must not block, and never while a record is in work. snapshot returns bytes that
// the engine copies; an error fails the cut as a whole. restore gets the bytes back in either [RestoreMode], before
// anything of the engine's own is restored; an error fails the restore.
func RegisterSnapshotSource(g *Graph, name string, snapshot func() ([]byte, error), restore func([]byte) error) {
	g.need(&operator{name: "snapshot source " + name}, "function", snapshot != nil && restore != nil)
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
	b, err := u.snapshot()
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

// items is a cut on its way back: each item is taken by its owner.
type items struct {
	bytes  map[string][]byte
	taken  map[string]bool
	mirror []iter.Seq[Entry]
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

// rest names an item that nobody has taken.
func (i *items) rest() error {
	var left []string
	for name := range i.bytes {
		if !i.taken[name] {
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("%q: %w", left, ErrUnknownItem)
}

// itemVersion is the layout version of the small items; tables have their own in package state.
const itemVersion = 1

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads the small items. The first mistake sticks; every later read gives zero.
type decoder struct {
	b   []byte
	err error
}

// newDecoder checks the two bytes at the head: kind and version.
func newDecoder(b []byte, kind byte) *decoder {
	d := &decoder{b: b}
	switch {
	case len(b) < 2 || b[0] != kind:
		d.err = fmt.Errorf("not an item of kind %q: %w", kind, ErrCorrupt)
	case b[1] != itemVersion:
		d.err = fmt.Errorf("layout version %d, known is %d: %w", b[1], itemVersion, ErrVersion)
	default:
		d.b = b[2:]
	}
	return d
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return take(d, v, n)
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return take(d, v, n)
}

func take[N int64 | uint64](d *decoder, v N, n int) N {
	if d.err == nil && n <= 0 {
		d.err = fmt.Errorf("number cut short: %w", ErrCorrupt)
	}
	if d.err != nil {
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bool() bool {
	if d.err == nil && (len(d.b) == 0 || d.b[0] > 1) {
		d.err = fmt.Errorf("no boolean: %w", ErrCorrupt)
	}
	if d.err != nil {
		return false
	}
	v := d.b[0] == 1
	d.b = d.b[1:]
	return v
}

func (d *decoder) string() string {
	n := d.uvarint()
	if d.err == nil && n > uint64(len(d.b)) {
		d.err = fmt.Errorf("string of %d bytes in %d: %w", n, len(d.b), ErrCorrupt)
	}
	if d.err != nil {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// finish says whether all was read and nothing was wrong.
func (d *decoder) finish() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes too many: %w", len(d.b), ErrCorrupt)
	}
	return d.err
}
