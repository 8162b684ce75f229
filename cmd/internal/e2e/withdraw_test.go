package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

const statePrefix = "streaming:runtime:checkpoint:{e2e}:"

// ownChunks are the keys of what a task has stored in a checkpoint and not in the one before.
func ownChunks(t *testing.T, c *redis.Client, task string, id int) (keys []string) {
	t.Helper()
	digests := func(id int) (list []string) {
		var record struct {
			State map[string]struct{ Chunks []struct{ Digest string } }
		}
		if err := json.Unmarshal([]byte(c.Get(t.Context(), fmt.Sprint(statePrefix, id)).Val()), &record); err != nil {
			t.Fatal(err)
		}
		for _, chunk := range record.State[task].Chunks {
			list = append(list, chunk.Digest)
		}
		return list
	}
	before := digests(id - 1)
	for _, d := range digests(id) {
		if !slices.Contains(before, d) {
			keys = append(keys, statePrefix+"state:"+d)
		}
	}
	return keys
}

// damaged is a job whose second worker is dead, and what that one has of its own in the newest checkpoint is harmed.
type damaged struct {
	*job
	all    []*process
	newest int
}

func newDamaged(t *testing.T, harm func(c *redis.Client, key string) error, flags ...string) *damaged {
	t.Helper()
	s := testredis.Start(t)
	d := &damaged{job: newJob(t, s.URL())}
	d.serve(flags...)
	d.all = d.work("4000")
	for _, w := range d.all {
		w.logged("restored")
	}
	c := s.Client(t)
	own := []string{}
	await(t, "a checkpoint with a change", func() bool {
		v := decode[verdict](t, d.must("trigger", "-o", "json"))
		if d.newest = int(*v.Checkpoint); d.newest > 0 {
			own = ownChunks(t, c, "task-2", d.newest)
		}
		return len(own) > 0
	})
	d.all[1].kill()
	if err := harm(c, own[0]); err != nil {
		t.Fatal(err)
	}
	return d
}

func (j *job) secondWorker() *process {
	return j.start("worker", "run", "--task", "2/3", "--rate", "4000", "--output", j.dir+"/")
}

// goesOn restarts the second worker and waits for the end: every row is there once, and the story is told.
func (d *damaged) goesOn() {
	d.t.Helper()
	d.all[1] = d.secondWorker()
	d.all[1].logged(fmt.Sprintf(`"restore":"%d"`, d.newest-1))
	for _, w := range d.all {
		if code := w.wait(); code != 0 {
			d.t.Fatalf("%s: exit code %d", w.name, code)
		}
	}
	d.check()
	id := fmt.Sprint(d.newest)
	if out := d.must("show", id); !strings.Contains(out, "withdrawn since: ") || !strings.Contains(out, "could not restore it: chunk_") {
		d.t.Errorf("show says\n%s", out)
	}
	if rows := decode[[]row](d.t, d.must("list", "-o", "json", "--status", "withdrawn")); len(rows) != 1 || rows[0].ID != int64(d.newest) {
		d.t.Errorf("withdrawn are %+v", rows)
	}
	if out := d.must("log", "--kind", "checkpoints_withdrawn"); strings.Count(out, "\n") != 1 {
		d.t.Errorf("the log says\n%s", out)
	}
}

func TestAMissingChunkOfTheNewestCheckpointMakesAnOlderOneTheRestorePoint(t *testing.T) {
	t.Parallel()
	d := newDamaged(t, func(c *redis.Client, key string) error { return c.Del(t.Context(), key).Err() }, "--fall-back")
	d.goesOn()
}

func TestADamagedChunkOfTheNewestCheckpointIsWithdrawnByHand(t *testing.T) {
	t.Parallel()
	d := newDamaged(t, func(c *redis.Client, key string) error {
		const behindTheHeader = 50
		return c.SetRange(t.Context(), key, behindTheHeader, "damage").Err()
	})
	stuck := d.secondWorker()
	if code := stuck.wait(); code != 1 || !strings.Contains(stuck.err.String(), "coordinator withdraw") {
		t.Errorf("a worker that cannot restore ends with %d", code)
	}
	older, newest := fmt.Sprint(d.newest-1), fmt.Sprint(d.newest)
	d.refused(1, []string{"withdraw", older}, "refused: restorable")
	d.refused(1, []string{"withdraw", "99"}, "refused: not_kept")
	out := d.must("withdraw", newest, "--reason", "disk swapped")
	if !strings.Contains(out, "checkpoint "+newest+" is withdrawn: disk swapped: 1 of ") || !strings.Contains(out, "restore checkpoint "+older) {
		t.Errorf("withdraw says\n%s", out)
	}
	d.goesOn()
}

func TestAJobStartsFromNothingOnlyWhenSomebodySaysSo(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j := newJob(t, s.URL())
	j.serve("--fall-back")
	all := j.work("4000")
	for _, w := range all {
		w.logged("restored")
	}
	await(t, "a checkpoint that completes", func() bool { return j.run("trigger").code == 0 })
	all[1].kill()
	c := s.Client(t)
	if err := c.Del(t.Context(), c.Keys(t.Context(), statePrefix+"state:*").Val()...).Err(); err != nil {
		t.Fatal(err)
	}
	if code := j.secondWorker().wait(); code != 1 {
		t.Errorf("a worker that has nothing to restore ends with %d", code)
	}
	j.refused(1, []string{"withdraw", "0"}, "refused: nothing_older", "start from nothing")
	type withdrawn struct {
		Withdrawn []int64 `json:"withdrawn"`
		Restore   *int64  `json:"restore"`
	}
	v := decode[withdrawn](t, j.must("withdraw", "0", "--to-nothing", "-o", "json"))
	if !slices.Equal(v.Withdrawn, []int64{0}) || v.Restore != nil {
		t.Errorf("withdraw says %+v", v)
	}
	all[1] = j.secondWorker()
	for _, w := range all {
		if code := w.wait(); code != 0 {
			t.Fatalf("%s: exit code %d", w.name, code)
		}
	}
	j.check()
}
