package worker_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/worker"
)

// checkpoint is one whole checkpoint of the team, after these values were processed by task i.
func (m *team) checkpoint(c *coordinator.Coordinator, i int, values ...int) events.CheckpointID {
	m.Helper()
	for _, v := range values {
		m.jobs[i].feed.c <- v
	}
	synctest.Wait()
	h, err := c.Trigger(m.Context(), coordinator.TriggerOptions{})
	m.must(err)
	m.must(h.Wait(m.Context()))
	synctest.Wait()
	return h.ID
}

// chunksOf are what a task has in the record of a checkpoint.
func (m *team) chunksOf(task events.TaskID, id events.CheckpointID) (digests []string) {
	m.Helper()
	cp, err := m.store.Load(m.Context(), id)
	m.must(err)
	value, _, err := store.Get[json.RawMessage](cp.State, task.String())
	m.must(err)
	h, err := events.DecodeHandle(value)
	m.must(err)
	for _, c := range h.Chunks {
		digests = append(digests, string(c.Digest))
	}
	return digests
}

// harm takes away what a task has in one checkpoint and not in the one before.
func (m *team) harm(task events.TaskID, id events.CheckpointID) {
	m.Helper()
	before := m.chunksOf(task, id-1)
	own := slices.DeleteFunc(m.chunksOf(task, id), func(d string) bool { return slices.Contains(before, d) })
	if len(own) == 0 {
		m.Fatal("nothing is its own")
	}
	m.must(m.fenced().Release(m.Context(), own, time.Millisecond))
	time.Sleep(2 * time.Millisecond)
}

// restart ends the worker of task i and starts another on the same rows.
func (m *team) restart(i int) *running {
	m.Helper()
	m.runs[i].cancel(errShutdown)
	_ = m.runs[i].wait()
	again := newJob()
	again.rows = m.jobs[i].rows
	m.jobs[i], m.runs[i] = again, m.runTask(m.tasks[i], again)
	return m.runs[i]
}

// The task goes back by one checkpoint more and reads again what it had read; its rows are as if nothing had happened. The
// others do not notice.
func TestATaskFallsBackToAnOlderCheckpointWhileTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		c := m.lead(0)
		m.startAll()
		time.Sleep(time.Second)
		m.checkpoint(c, 1, 1)
		m.checkpoint(c, 1, 11)
		last := m.checkpoint(c, 1, 21)
		m.harm(m.tasks[1], last)
		r := m.restart(1)
		time.Sleep(time.Minute)
		if r.ended() {
			t.Fatalf("the worker ended: %v", r.err)
		}
		if id := m.checkpoint(c, 1, 21, 31); id != last+1 { // 21 again: the input is read from where the older one was cut
			t.Errorf("the next is %s", id)
		}
		if rows := m.jobs[1].rows.All(); !slices.Equal(rows, []int{1, 12, 33, 64}) {
			t.Errorf("rows %v", rows)
		}
		if m.runs[0].ended() || m.runs[2].ended() || count[*events.TaskRegistered](m.stage) != 5 {
			t.Errorf("the others took part: %d registrations", count[*events.TaskRegistered](m.stage))
		}
		for _, d := range m.chunksOf(m.tasks[1], last+1) { // what was damaged is whole again
			if _, err := m.store.GetChunk(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAWorkerEndsWhenNothingOlderCanBeRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		c := m.lead(0)
		m.startAll()
		time.Sleep(time.Second)
		id := m.checkpoint(c, 1, 1)
		m.must(m.fenced().Release(m.Context(), m.chunksOf(m.tasks[1], id), time.Millisecond))
		time.Sleep(2 * time.Millisecond)
		err := m.restart(1).wait()
		if !errors.Is(err, worker.ErrRestore) || !errors.Is(err, store.ErrChunkMissing) || !strings.Contains(err.Error(), "coordinator withdraw") {
			t.Errorf("got %v", err)
		}
		if n := count[*events.TaskRestoreFailed](m.stage); n != 1 {
			t.Errorf("the log was told %d times", n)
		}
	})
}
