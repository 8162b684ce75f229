package events

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrInvalidID is wrapped by every Parse function of this package when the text cannot be that kind of id.
// The wrapping error says which id, which text and what is allowed.
var ErrInvalidID = errors.New("invalid id")

// maxName is the longest accepted name, in bytes. A name becomes part of a Redis key, so it is short and free of anything
// that has a meaning there: colons separate key parts, braces are hash tags, globs match foreign keys.
const maxName = 128

// JobID names one job: the unit that has one log, one coordinator and one set of tasks.
// It is the hash tag of all keys of the job. It matches [A-Za-z0-9._-]{1,128}.
type JobID string

// ParseJobID returns s as a job id, or an error that wraps [ErrInvalidID].
func ParseJobID(s string) (JobID, error) {
	return JobID(s), checkName("job", s)
}

func (j JobID) String() string { return string(j) }

// IsZero reports whether the id is absent.
func (j JobID) IsZero() bool { return j == "" }

// MarshalText implements [encoding.TextMarshaler]; an invalid id is an error.
func (j JobID) MarshalText() ([]byte, error) { return marshalName("job", string(j)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (j *JobID) UnmarshalText(b []byte) (err error) { *j, err = ParseJobID(string(b)); return err }

// TaskID names one task of a job: one share of the input, with one state. It stays the same over restarts.
// It matches [A-Za-z0-9._-]{1,128}.
type TaskID string

// ParseTaskID returns s as a task id, or an error that wraps [ErrInvalidID].
func ParseTaskID(s string) (TaskID, error) {
	return TaskID(s), checkName("task", s)
}

func (t TaskID) String() string { return string(t) }

// IsZero reports whether the id is absent.
func (t TaskID) IsZero() bool { return t == "" }

// MarshalText implements [encoding.TextMarshaler]; an invalid id is an error.
func (t TaskID) MarshalText() ([]byte, error) { return marshalName("task", string(t)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *TaskID) UnmarshalText(b []byte) (err error) { *t, err = ParseTaskID(string(b)); return err }

// InstanceID names one start of one process, coordinator or worker. No two starts share one.
// It matches [A-Za-z0-9._-]{1,128}.
type InstanceID string

// ParseInstanceID returns s as an instance id, or an error that wraps [ErrInvalidID].
func ParseInstanceID(s string) (InstanceID, error) {
	return InstanceID(s), checkName("instance", s)
}

func (i InstanceID) String() string { return string(i) }

// IsZero reports whether the id is absent.
func (i InstanceID) IsZero() bool { return i == "" }

// MarshalText implements [encoding.TextMarshaler]; an invalid id is an error.
func (i InstanceID) MarshalText() ([]byte, error) {
	return marshalName("instance", string(i))
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (i *InstanceID) UnmarshalText(b []byte) (err error) {
	*i, err = ParseInstanceID(string(b))
	return err
}

// RequestID names one request; the client chooses it, so that a repeated request is recognised.
// It matches [A-Za-z0-9._-]{1,128}.
type RequestID string

// ParseRequestID returns s as a request id, or an error that wraps [ErrInvalidID].
func ParseRequestID(s string) (RequestID, error) {
	return RequestID(s), checkName("request", s)
}

func (r RequestID) String() string { return string(r) }

// IsZero reports whether the id is absent.
func (r RequestID) IsZero() bool { return r == "" }

// MarshalText implements [encoding.TextMarshaler]; an invalid id is an error.
func (r RequestID) MarshalText() ([]byte, error) {
	return marshalName("request", string(r))
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *RequestID) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRequestID(string(b))
	return err
}

// EventID names one event for ever: an append whose outcome is unknown is repeated under the same event id, and
// the fold counts it once. It is the watermill message UUID. It matches [A-Za-z0-9._-]{1,128}.
type EventID string

// ParseEventID returns s as an event id, or an error that wraps [ErrInvalidID].
func ParseEventID(s string) (EventID, error) {
	return EventID(s), checkName("event", s)
}

func (e EventID) String() string { return string(e) }

// IsZero reports whether the id is absent.
func (e EventID) IsZero() bool { return e == "" }

// MarshalText implements [encoding.TextMarshaler]; an invalid id is an error.
func (e EventID) MarshalText() ([]byte, error) { return marshalName("event", string(e)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *EventID) UnmarshalText(b []byte) (err error) { *e, err = ParseEventID(string(b)); return err }

// CheckpointID numbers the checkpoints of a job: 0, 1, 2, …; never reused. [NoCheckpoint] stands for none.
type CheckpointID int64

// NoCheckpoint is the id of no checkpoint. Zero is a real id: the first one.
const NoCheckpoint CheckpointID = -1

// ParseCheckpointID returns the decimal s (no sign, no leading zeros) as a checkpoint id, or an error that wraps [ErrInvalidID].
func ParseCheckpointID(s string) (CheckpointID, error) {
	n, err := parseNumber("checkpoint", s, 0)
	if err != nil {
		return NoCheckpoint, err
	}
	return CheckpointID(n), nil
}

func (c CheckpointID) String() string {
	if c < 0 {
		return "none"
	}
	return strconv.FormatInt(int64(c), 10)
}

// IsZero reports whether the id stands for no checkpoint. Note that checkpoint 0 is a checkpoint.
func (c CheckpointID) IsZero() bool { return c < 0 }

// Attempt numbers the runs of one task: 1, 2, …. Zero means none. Messages of an older attempt are void.
type Attempt int64

// ParseAttempt returns the decimal s as an attempt, or an error that wraps [ErrInvalidID].
func ParseAttempt(s string) (Attempt, error) {
	n, err := parseNumber("attempt", s, 1)
	return Attempt(n), err
}

func (a Attempt) String() string { return strconv.FormatInt(int64(a), 10) }

// IsZero reports whether there is no attempt yet.
func (a Attempt) IsZero() bool { return a == 0 }

// Epoch numbers the reigns of coordinators of one job: 1, 2, …. It is the fencing token: a higher one voids all lower ones.
type Epoch int64

// ParseEpoch returns the decimal s as an epoch, or an error that wraps [ErrInvalidID].
func ParseEpoch(s string) (Epoch, error) {
	n, err := parseNumber("epoch", s, 1)
	return Epoch(n), err
}

func (e Epoch) String() string { return strconv.FormatInt(int64(e), 10) }

// IsZero reports whether there was no coordinator yet.
func (e Epoch) IsZero() bool { return e == 0 }

// checkName refuses text that is empty, longer than maxName or outside [A-Za-z0-9._-].
func checkName(what, s string) error {
	if s == "" {
		return fmt.Errorf("%w: %s is empty", ErrInvalidID, what)
	}
	if len(s) > maxName {
		return fmt.Errorf("%w: %s of %d bytes is longer than %d", ErrInvalidID, what, len(s), maxName)
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return fmt.Errorf("%w: %s %q has %q at byte %d; letters, digits, '.', '_' and '-' are allowed",
				ErrInvalidID, what, s, s[i], i)
		}
	}
	return nil
}

// checkOptional is checkName for a name that may be absent.
func checkOptional(what, s string) error {
	if s == "" {
		return nil
	}
	return checkName(what, s)
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

func marshalName(what, s string) ([]byte, error) {
	if err := checkName(what, s); err != nil {
		return nil, err
	}
	return []byte(s), nil
}

// parseNumber reads a canonical decimal of at least min: what was written by String comes back, and nothing else does.
func parseNumber(what, s string, least int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%w: %s %q is not a decimal number", ErrInvalidID, what, s)
	}
	if n < least {
		return 0, fmt.Errorf("%w: %s %d is below %d", ErrInvalidID, what, n, least)
	}
	return n, nil
}
