package eventlog

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/tidemark-stream/tidemark/events"
)

// Control is the whole current state that workers need: a level, not an edge. The newest one is enough, and losing any
// number of older ones is harmless.
type Control struct {
	// Epoch and Instance are the coordinator's that wrote it.
	Epoch    events.Epoch
	Instance events.InstanceID
	// Position is up to where the log is folded in it.
	Position events.Position
	// LatestCompleted is the newest completed checkpoint; [events.NoCheckpoint] if there is none.
	LatestCompleted events.CheckpointID
	// Pending are the checkpoints that wait for acks, by id.
	Pending []PendingCheckpoint
	// Expected is how many tasks the coordinator expects; 0 when that is not known, or when it counts acks of any tasks.
	Expected int
	// TasksVersion rises after each change of an assignment.
	TasksVersion int64
	// Finished says that the job is over: no further checkpoint will come.
	Finished bool
}

// PendingCheckpoint is one checkpoint that waits for acks.
type PendingCheckpoint struct {
	ID   events.CheckpointID
	Type events.CheckpointType
	// Epoch is the one that triggered it; an ack names it.
	Epoch events.Epoch
	// JoiningEvent, if not empty, must be named by every ack that counts.
	JoiningEvent string
	// TriggeredAt is the coordinator's wall clock, in milliseconds.
	TriggeredAt int64
}

// controlWire is a Control as it stands in the feed.
type controlWire struct {
	Epoch           events.Epoch         `json:"epoch"`
	Instance        events.InstanceID    `json:"instance"`
	Position        events.Position      `json:"position"`
	LatestCompleted *events.CheckpointID `json:"latest_completed,omitempty"`
	Pending         []pendingWire        `json:"pending,omitempty"`
	Expected        int                  `json:"expected,omitempty"`
	TasksVersion    int64                `json:"tasks_version"`
	Finished        bool                 `json:"finished,omitempty"`
}

type pendingWire struct {
	ID           events.CheckpointID   `json:"id"`
	Type         events.CheckpointType `json:"type"`
	Epoch        events.Epoch          `json:"epoch"`
	JoiningEvent string                `json:"joining_event,omitempty"`
	TriggeredAt  int64                 `json:"triggered_at"`
}

// Encode gives the JSON of the state; docs/wire-format.md describes it.
func (c Control) Encode() ([]byte, error) {
	w := controlWire{
		Epoch: c.Epoch, Instance: c.Instance, Position: c.Position, LatestCompleted: optional(c.LatestCompleted),
		Expected: c.Expected, TasksVersion: c.TasksVersion, Finished: c.Finished,
	}
	for _, p := range c.Pending {
		w.Pending = append(w.Pending, pendingWire(p))
	}
	b, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode control: %w", err)
	}
	return b, nil
}

// DecodeControl reads what Encode wrote.
func DecodeControl(b []byte) (Control, error) {
	var w controlWire
	if err := json.Unmarshal(b, &w); err != nil {
		return Control{}, fmt.Errorf("decode control: %w", err)
	}
	c := Control{
		Epoch: w.Epoch, Instance: w.Instance, Position: w.Position, LatestCompleted: required(w.LatestCompleted),
		Expected: w.Expected, TasksVersion: w.TasksVersion, Finished: w.Finished,
	}
	for _, p := range w.Pending {
		c.Pending = append(c.Pending, PendingCheckpoint(p))
	}
	return c, nil
}

// Controls is what a worker reads of its coordinator.
type Controls interface {
	// LatestControl is the newest state; ok is false when there is none yet.
	LatestControl(ctx context.Context) (c Control, ok bool, err error)
	// FollowControl yields the newest state and then each newer one, until ctx ends; states that a newer one has overtaken are
	// skipped. It reconnects by itself like [Reader.Follow]; after a failover the state can be an older one again.
	FollowControl(ctx context.Context, opts FollowOptions) iter.Seq2[Control, error]
}

// optional is the wire form of an id that may be absent.
func optional(id events.CheckpointID) *events.CheckpointID {
	if id.IsZero() {
		return nil
	}
	return &id
}

func required(id *events.CheckpointID) events.CheckpointID {
	if id == nil {
		return events.NoCheckpoint
	}
	return *id
}
