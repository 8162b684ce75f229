package store

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/tidemark-stream/tidemark/events"
)

// Versions of the record format. A record without a version marker is of the legacy version.
const (
	CurrentSnapshotVersion = 1
	LegacySnapshotVersion  = 0
)

// Checkpoint is one record: what is known of one checkpoint, and the state that came with it.
type Checkpoint struct {
	// ID is the number of the checkpoint; it is also in its key.
	ID events.CheckpointID
	// Timestamp is when it was triggered, in milliseconds since 1970. It orders lists and nothing else.
	Timestamp int64
	// Completed says that it can be restored from. A stored record never goes back to open.
	Completed bool
	// Version is the format of the record: 0 or 1.
	Version int
	// Nonce is a mark by which the creator of a record knows it again. Create makes one up if it is empty; a caller that
	// wants to repeat Create after a lost answer sets its own. At most 128 bytes.
	Nonce string
	// State is what tasks have put into the record.
	State State
	// Extra keeps the members of the record that this release does not know, byte for byte up to white space.
	Extra map[string]json.RawMessage
}

// New returns an open checkpoint of the current version with an empty state. Timestamp is in milliseconds.
func New(id events.CheckpointID, timestamp int64) *Checkpoint {
	return &Checkpoint{ID: id, Timestamp: timestamp, Version: CurrentSnapshotVersion, State: State{}}
}

// Complete marks the checkpoint completed. Doing so twice is harmless; there is no way back.
func (c *Checkpoint) Complete() { c.Completed = true }

// String names the checkpoint without its state: "checkpoint id=7 ts=1234 completed=false version=1 entries=2".
func (c *Checkpoint) String() string {
	return fmt.Sprintf("checkpoint id=%v ts=%d completed=%t version=%d entries=%d",
		c.ID, c.Timestamp, c.Completed, c.Version, len(c.State))
}

// Head returns a copy without the state.
func (c *Checkpoint) Head() *Checkpoint {
	head := *c
	head.State, head.Extra = nil, maps.Clone(c.Extra)
	return &head
}

// Clone returns a deep copy, or an error that wraps [ErrInvalid] if the state holds what JSON cannot. Values come out
// as they would from a store: integers as int64 and so on, see [State].
func (c *Checkpoint) Clone() (*Checkpoint, error) {
	b, err := EncodeRecord(c, 0)
	if err != nil {
		return nil, err
	}
	return DecodeRecord(c.ID.String(), c.ID, b, 0)
}
