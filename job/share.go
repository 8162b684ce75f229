package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/events"
)

// Share is the part of a job that one process works on. Tasks share nothing: each reads the whole input and keeps what it owns,
// or reads a part that no other does.
type Share struct {
	Job events.JobID
	// Task is "task-1" for Index 0.
	Task events.TaskID
	// Index is the share's number, from 0, of Count. On the command line it is counted from 1: --task 1/3 is Index 0 of Count 3.
	Index, Count int
	// Attempt counts the runs of the task, from 1. It is 0 before the task is registered.
	Attempt events.Attempt
	// Restore is the checkpoint that will be put in place; [events.NoCheckpoint] for none, and before the task is registered.
	Restore events.CheckpointID
}

// Owns reports whether a key belongs to this share: each belongs to exactly one of Count, by its hash.
func (s Share) Owns(key string) bool { return state.Group(state.Hash64(key), s.Count) == s.Index }

// File names the file for the share's rows under path, and makes the folder that it lies in. A path that is a folder, or ends in a
// slash, stands for the file <task>.jsonl in it. One file for several shares is an [ErrUsage]: the first of them to end would take
// the others' parts for its own leftovers. So with several shares the base name must hold this one's number, from 1.
func (s Share) File(path string) (string, error) {
	file := path
	if info, err := os.Stat(path); (err == nil && info.IsDir()) || strings.HasSuffix(path, "/") {
		file = filepath.Join(path, s.Task.String()+".jsonl")
	}
	if s.Count > 1 && !strings.Contains(filepath.Base(file), strconv.Itoa(s.Index+1)) {
		return "", Usagef("output %q: with %d shares it is a folder, or a file of this share alone with its number in the name, such as %s.jsonl",
			path, s.Count, s.Task)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", fmt.Errorf("make the folder of output %q: %w", path, err)
	}
	return file, nil
}
