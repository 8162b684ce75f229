package job_test

import (
	"errors"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/internal/tasks"
	"github.com/tidemark-stream/tidemark/job"
)

func TestEveryKeyBelongsToOneShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, count, owners := rapid.String().Draw(t, "key"), rapid.IntRange(1, 50).Draw(t, "count"), 0
		for i := range count {
			if (job.Share{Index: i, Count: count}).Owns(key) {
				owners++
			}
		}
		if owners != 1 {
			t.Errorf("%d of %d shares own %q", owners, count, key)
		}
	})
}

func TestEachShareHasAFileOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		path         string
		index, count int
		want         string // empty: refused
	}{
		{dir, 0, 1, dir + "/task-1.jsonl"},
		{dir, 1, 3, dir + "/task-2.jsonl"},
		{dir + "/new/", 1, 3, dir + "/new/task-2.jsonl"},
		{dir + "/deep/er/rows.jsonl", 0, 1, dir + "/deep/er/rows.jsonl"},
		{dir + "/part-2.jsonl", 1, 3, dir + "/part-2.jsonl"},
		{dir + "/part-1.jsonl", 1, 3, ""},
		{dir + "/2/rows.jsonl", 1, 3, ""},
	} {
		got, err := job.Share{Task: tasks.ID(c.index + 1), Index: c.index, Count: c.count}.File(c.path)
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, job.ErrUsage) {
			t.Errorf("%s of share %d of %d: %s, %v", c.path, c.index, c.count, got, err)
		}
		if matches, _ := filepath.Glob(filepath.Dir(got)); err == nil && len(matches) != 1 {
			t.Errorf("there is no folder for %s", got)
		}
	}
	if _, err := (job.Share{Task: "task-1", Count: 1}).File("/dev/null/rows.jsonl"); err == nil || errors.Is(err, job.ErrUsage) {
		t.Errorf("a folder that cannot be made: %v", err)
	}
}
