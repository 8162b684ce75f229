package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// CorruptError says that stored bytes are not what their key promises. It matches [ErrCorrupt].
type CorruptError struct {
	Key    string // the key, or what stands for it in a store without keys
	Reason string // what is wrong with the bytes
}

func (e *CorruptError) Error() string { return fmt.Sprintf("corrupt %s: %s", e.Key, e.Reason) }

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// VersionError says that a record was written by a newer release. It is refused, not guessed at. It matches [ErrVersion].
type VersionError struct {
	ID      events.CheckpointID
	Version int64 // the version found
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("checkpoint %v has snapshot version %d; this release reads up to %d", e.ID, e.Version, CurrentSnapshotVersion)
}

// Is reports whether target is [ErrVersion].
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// TypeError says that a state value cannot be read as the wanted type.
type TypeError struct {
	Key    string // of the state entry
	Stored string // Go type of the stored value
	Wanted string // Go type asked for
	Err    error  // what the conversion said
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("state %q holds %s, not convertible to %s: %v", e.Key, e.Stored, e.Wanted, e.Err)
}

// Unwrap returns the error of the conversion.
func (e *TypeError) Unwrap() error { return e.Err }

// SkippedError names the records that List, Latest or Cleanup left out because they could not be read. It comes beside
// a valid result. It matches what the errors in it match.
type SkippedError struct {
	Records []error // a [*CorruptError], [*VersionError] or an [ErrTooLarge] for each
}

func (e *SkippedError) Error() string {
	texts := make([]string, len(e.Records))
	for i, err := range e.Records {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("left out %d unreadable: %s", len(e.Records), strings.Join(texts, "; "))
}

// Unwrap returns the errors of the records.
func (e *SkippedError) Unwrap() []error { return e.Records }

// Skipped splits the error of List, Latest or Cleanup: what was left out of a valid result, and what made the call fail.
// At most one of the two is there.
func Skipped(err error) (*SkippedError, error) {
	if s, ok := errors.AsType[*SkippedError](err); ok {
		return s, nil
	}
	return nil, err
}

// Unreadable reports whether err says that a record exists and cannot be read, now or ever, by this release:
// corrupt, of a newer version, or over the size limit.
func Unreadable(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) || errors.Is(err, ErrTooLarge)
}

// CheckReplace says whether Store may write next over the record found, or over one that could not be read, with
// that error. Every implementation asks it: completed stays completed, what a newer release has written stays, and a
// corrupt record may be mended.
func CheckReplace(next, found *Checkpoint, err error) error {
	switch {
	case errors.Is(err, ErrCorrupt):
		return nil
	case err != nil:
		return err
	case found.Completed && !next.Completed:
		return ErrCompleted
	}
	return nil
}
