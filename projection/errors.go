package projection

import "errors"

// Errors of [State.UnmarshalBinary].
var (
	// ErrFoldVersion: a fold that was saved by another version of the rules; rebuild it from the log.
	ErrFoldVersion = errors.New("saved fold of another version")
	// ErrFoldCorrupt: not a saved fold, or a damaged one; rebuild it from the log.
	ErrFoldCorrupt = errors.New("saved fold is damaged")
	// ErrFoldJob: the fold of another job.
	ErrFoldJob = errors.New("saved fold of another job")
)
