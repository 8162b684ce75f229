package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// ErrSuperseded is returned by [Tasks.Beat] when a later attempt of the task is alive: the caller stops writing.
var ErrSuperseded = errors.New("superseded by a later attempt")

// Assignment is what the coordinator has fixed for one task.
type Assignment struct {
	// Instance is the process start that has the attempt.
	Instance events.InstanceID
	Attempt  events.Attempt
	// Restore is the restore point; [events.NoCheckpoint] means start empty.
	Restore events.CheckpointID
	// Phase is where the fold sees the attempt, such as "restoring" or "running".
	Phase string
}

type assignmentWire struct {
	Attempt  events.Attempt       `json:"attempt"`
	Instance events.InstanceID    `json:"instance"`
	Restore  *events.CheckpointID `json:"restore,omitempty"`
	Phase    string               `json:"phase,omitempty"`
}

// Encode gives the JSON of the assignment.
func (a Assignment) Encode() ([]byte, error) {
	b, err := json.Marshal(assignmentWire{a.Attempt, a.Instance, optional(a.Restore), a.Phase})
	if err != nil {
		return nil, fmt.Errorf("encode assignment: %w", err)
	}
	return b, nil
}

// DecodeAssignment reads what Encode wrote.
func DecodeAssignment(b []byte) (Assignment, error) {
	var w assignmentWire
	if err := json.Unmarshal(b, &w); err != nil {
		return Assignment{}, fmt.Errorf("decode assignment: %w", err)
	}
	return Assignment{Instance: w.Instance, Attempt: w.Attempt, Restore: required(w.Restore), Phase: w.Phase}, nil
}

// Presence is a worker's sign of life for one task.
type Presence struct {
	Instance events.InstanceID
	// Attempt is 0 as long as the worker has none.
	Attempt events.Attempt
	Phase   string
	// Progress is one JSON value of at most MaxProgress bytes, for the reader; nil for none.
	Progress []byte
}

// MaxProgress bounds Presence.Progress, in bytes.
const MaxProgress = 4 << 10

// presenceWire begins with the attempt: a script that guards the key reads it by its place.
type presenceWire struct {
	Attempt  events.Attempt    `json:"attempt"`
	Instance events.InstanceID `json:"instance"`
	Phase    string            `json:"phase,omitempty"`
	Progress json.RawMessage   `json:"progress,omitempty"`
}

// Encode gives the JSON of the presence.
func (p Presence) Encode() ([]byte, error) {
	if len(p.Progress) > MaxProgress {
		return nil, fmt.Errorf("encode presence: progress of %d bytes is more than %d", len(p.Progress), MaxProgress)
	}
	b, err := json.Marshal(presenceWire{p.Attempt, p.Instance, p.Phase, p.Progress})
	if err != nil {
		return nil, fmt.Errorf("encode presence: %w", err)
	}
	return b, nil
}

// DecodePresence reads what Encode wrote.
func DecodePresence(b []byte) (Presence, error) {
	var w presenceWire
	if err := json.Unmarshal(b, &w); err != nil {
		return Presence{}, fmt.Errorf("decode presence: %w", err)
	}
	return Presence{Instance: w.Instance, Attempt: w.Attempt, Phase: w.Phase, Progress: w.Progress}, nil
}

// Tasks is what coordinator and workers tell each other about tasks beside the log.
type Tasks interface {
	// Assignment is what [Term.WriteTasks] wrote for the task; ok is false when nothing was.
	Assignment(ctx context.Context, task events.TaskID) (a Assignment, ok bool, err error)
	// Beat says that the task is alive and will be for ttl (at least 1 ms, by the clock of the server). A sign of a higher attempt that
	// still lives is not overwritten: that is [ErrSuperseded], or no error for a worker that has no attempt yet.
	Beat(ctx context.Context, task events.TaskID, p Presence, ttl time.Duration) error
	// Presences gives the signs of life of these tasks; one that has none, or whose has lapsed, is absent.
	Presences(ctx context.Context, tasks []events.TaskID) (map[events.TaskID]Presence, error)
}

// Saved is what a coordinator has stored beside the log.
type Saved interface {
	// LoadFold gives what [Term.SaveFold] stored last; ok is false when nothing was.
	LoadFold(ctx context.Context) (at events.Position, state []byte, ok bool, err error)
	// Quarantined gives the newest poison entries, newest first, at most limit.
	Quarantined(ctx context.Context, limit int) ([]Entry, error)
}

// Job is all that one job keeps here: what an implementation offers.
type Job interface {
	Log
	Controls
	Tasks
	Saved
	// Job is the job's id.
	Job() events.JobID
}
