package store

import (
	"context"
	"errors"

	"github.com/tidemark-stream/tidemark/events"
)

// What the methods of [Store] answer beside success. Test with errors.Is; the wrapping error says which checkpoint.
var (
	// ErrNotFound is returned by Load and Complete when there is no record of that id.
	ErrNotFound = errors.New("checkpoint not found")
	// ErrNone is returned by Latest when there is no completed checkpoint. "Could not read" is any other error.
	ErrNone = errors.New("no completed checkpoint")
	// ErrExists is returned by Create when somebody else's record already has that id.
	ErrExists = errors.New("checkpoint exists already")
	// ErrCompleted is returned by Store for an open checkpoint whose record is completed already: no way back.
	ErrCompleted = errors.New("checkpoint is completed already")
	// ErrContended is returned by Store, Complete and Cleanup when the record changed under every one of the bounded
	// number of attempts. Nothing was written.
	ErrContended = errors.New("checkpoint record kept changing")
	// ErrInvalid is returned for an argument that can never be right: a negative id, keep or limit, a state value
	// that JSON cannot hold, a digest that is none.
	ErrInvalid = errors.New("invalid argument")
	// ErrTooLarge is returned for a record or a chunk beyond the limit, by writing and by reading.
	ErrTooLarge = errors.New("over the size limit")
	// ErrFenced is returned by every coordinator write of a [JobStore] whose token is not the one in force, or that
	// has none. Nothing was written.
	ErrFenced = errors.New("fenced: not the leading coordinator")
	// ErrOutcomeUnknown is returned by writes when the answer got lost and reading back failed as well: it may
	// have happened or not. Keep the data, read again later.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrCorrupt is what every [*CorruptError] matches.
	ErrCorrupt = errors.New("corrupt")
	// ErrVersion is what every [*VersionError] matches, and what GetChunk returns for a chunk of a newer release.
	ErrVersion = errors.New("unknown snapshot version")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("store is closed")
	// ErrChunkMissing is returned by GetChunk when there is no such chunk, or none any more.
	ErrChunkMissing = errors.New("chunk missing")
)

// Store keeps checkpoint records. All methods copy what they take and what they give: nothing that a caller changes
// afterwards changes a record. All are safe for concurrent use and end when ctx does, with an error that wraps its cause.
type Store interface {
	// Create writes a record that must not exist yet. A foreign record is never overwritten: [ErrExists]. A call
	// repeated after a lost answer succeeds if the record found is the one it wrote, told by [Checkpoint.Nonce].
	Create(ctx context.Context, cp *Checkpoint) error
	// Store writes a record, over an older one of the same id if there is one. An open checkpoint never replaces a
	// completed one: [ErrCompleted].
	Store(ctx context.Context, cp *Checkpoint) error
	// Load reads one record, open or completed. It may return [ErrNotFound], a [*CorruptError] or a [*VersionError].
	Load(ctx context.Context, id events.CheckpointID) (*Checkpoint, error)
	// List returns the newest limit records, open and completed: timestamp descending, equal ones by id descending.
	// Limit 0 gives an empty list; a negative one is [ErrInvalid]. A record that cannot be read is left out and named in
	// a [*SkippedError], which comes with the rest of the list and not instead of it; [Skipped] tells it from failure.
	List(ctx context.Context, limit int) ([]*Checkpoint, error)
	// Latest returns the completed checkpoint with the highest id, without reading any other. [ErrNone] if there is
	// none. If newer completed ones had to be left out because they are unreadable, they are named in a
	// [*SkippedError] beside the checkpoint; with no readable one at all, the checkpoint is nil.
	Latest(ctx context.Context) (*Checkpoint, error)
	// HighestID returns the highest id of any kind, open, completed or unreadable, and [events.NoCheckpoint] if there
	// is none. Ids deleted through this store count while its index lives, so that the next id is not a used one.
	HighestID(ctx context.Context) (events.CheckpointID, error)
	// Complete marks a record completed: it reads it, hands it to merge (which may be nil), and writes it back only if
	// the stored bytes are still those it read; otherwise it starts again, a bounded number of times ([ErrContended]).
	// So what others put into the record stays. A record that is completed already is returned as it is, and merge is
	// not called. One that merge has changed is returned without its state: reading that back takes ten times as long as
	// writing it (0.2 s with 10 000 tasks), and who wants it loads it. merge may be called more than once; its error ends the call with nothing written.
	Complete(ctx context.Context, id events.CheckpointID, merge func(*Checkpoint) error) (*Checkpoint, error)
	// Delete removes a record and says whether there was one.
	Delete(ctx context.Context, id events.CheckpointID) (bool, error)
	// Cleanup removes records until keep are left and returns how many went: open ones first, even the newest, then the
	// completed ones with the lowest ids. Those for which protected (which may be nil) says true stay and count among the
	// kept. A negative keep is [ErrInvalid]. An unreadable record whose turn comes stays, is not counted, and is named in
	// a [*SkippedError]: this release does not delete what it cannot read.
	Cleanup(ctx context.Context, keep int, protected func(events.CheckpointID) bool) (int, error)
	// Close makes all later calls return [ErrClosed]. It never closes a client that was handed in. Closing twice is
	// harmless.
	Close() error
}

// Fence is the token of one reign of one coordinator. It is in force while the job's leader entry carries the same.
type Fence struct {
	Epoch    events.Epoch
	Instance events.InstanceID
}

// IsZero reports whether there is no token.
func (f Fence) IsZero() bool { return f == Fence{} }

// JobStore is the store of one job: records and state chunks, written under a token.
//
// As opened it is for workers and readers: PutChunk, GetChunk and everything that only reads. The writes of a coordinator
// (Create, Store, Complete, Delete, Cleanup, Keep, Release) need a view made by Fenced, and return [ErrFenced] without.
type JobStore interface {
	Store
	Chunks
	// Fenced returns a view of the same store whose writes carry the token; each write compares it with the
	// one in force in the same atomic step. Closing a view closes nothing else.
	Fenced(f Fence) JobStore
}
