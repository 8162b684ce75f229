package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// Errors of [Pipeline.Cut] and [Pipeline.Restore].
var (
	// ErrFailed: the run has failed inside a record, so there is no consistent state to cut.
	ErrFailed = errors.New("pipeline has failed")
	// ErrInRecord: a cut from inside a record's function, which has other subtasks beside it; [Pipeline.Request] takes it when
	// the record has ended.
	ErrInRecord = errors.New("inside a record")
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
	// rewind brings back keyed state, watermarks and what is registered, and nothing else, in a pipeline that may run. See
	// [Checkpoints.Restore].
	rewind
)

// restoresKeys says whether keyed state becomes that of the cut.
func (m RestoreMode) restoresKeys() bool { return m == Adopt || m == rewind }

// Snapshot is one cut: everything that the graph knows, at one moment between two records.
type Snapshot struct {
	// ID is the id that the cut was asked for under.
	ID int64
	// Items are the chunks of the cut, in the order of registration. Each is encoded on its own.
	Items []Item
	// Waited is how long the cut has waited until every subtask was between two records.
	Waited time.Duration
}

// clone is the same cut in memory of its own. Items never change.
func (s *Snapshot) clone() *Snapshot {
	return &Snapshot{ID: s.ID, Items: slices.Clone(s.Items), Waited: s.Waited}
}

// Encode gives the bytes of all items by name, as [Pipeline.Restore] takes them; see [Item.Encode].
func (s *Snapshot) Encode() (map[string][]byte, error) {
	cut := make(map[string][]byte, len(s.Items))
	for _, i := range s.Items {
		b, err := i.Encode()
		if err != nil {
			return nil, err
		}
		cut[i.Name] = b
	}
	return cut, nil
}

// Item is one chunk of a cut: a key group, a position, a watermark. It is deep: what happens in the pipeline after the cut
// does not change it.
type Item struct {
	// Name is unique in its snapshot and the same in each: "source-1", "window-1/00017".
	Name string
	// prepare makes durable what the bytes promise; nil where there is nothing to do.
	prepare func(ctx context.Context) error
	encode  func() ([]byte, error)
}

// Encode gives the bytes of the item. It is called outside every lock, from any goroutine, any number of times; equal
// content gives equal bytes. For a file sink it first makes the rows of the cut durable, and fails if that does; so it does
// for a sink that commits in two phases.
func (i Item) Encode() ([]byte, error) {
	return i.EncodeContext(context.Background()) //nolint:forbidigo // Nobody wants to interrupt it.
}

// EncodeContext is Encode, where pre-commits of a [TwoPhaseCommit] end with ctx.
func (i Item) EncodeContext(ctx context.Context) (b []byte, err error) {
	err = guard(func() (err error) { // marshallers and pre-commits are functions of the user's own
		if i.prepare != nil {
			err = i.prepare(ctx)
		}
		if err == nil {
			b, err = i.encode()
		}
		return err
	})
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
