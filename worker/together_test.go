package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/worker"
)

// team is three workers and their coordinators, in memory and in virtual time.
type team struct {
	*stage
	tasks []events.TaskID
	jobs  []*job
	runs  []*running
}

func newTeam(t *testing.T) *team {
	t.Helper()
	s := &stage{T: t}
	s.log = memlog.New(memlog.Config{Job: "team"})
	var err error
	s.inner, err = memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) {
		epoch, instance, ok := s.log.Token()
		return store.Fence{Epoch: epoch, Instance: instance}, ok
	}})
	s.must(err)
	s.store = s.inner
	return &team{stage: s, tasks: []events.TaskID{"task-0", "task-1", "task-2"}}
}

func (m *team) lead(interval time.Duration) *coordinator.Coordinator {
	m.Helper()
	c, err := coordinator.Open(m.Context(), coordinator.Config{
		Job: "team", Log: m.log, Store: m.store, Tasks: m.tasks, Interval: interval, Retain: 3, FallBack: true,
	})
	m.must(err)
	m.Cleanup(func() { m.must(c.Close()) })
	return c
}

func (m *team) startAll() {
	m.Helper()
	for _, id := range m.tasks {
		j := newJob()
		m.jobs = append(m.jobs, j)
		m.runs = append(m.runs, m.runTask(id, j))
	}
}

func (m *team) runTask(id events.TaskID, j *job) *running {
	m.Helper()
	cfg := j.config()
	cfg.Task = id
	return m.run(cfg)
}

func TestAJobWithoutAnIntervalRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		m.startAll() // before there is any coordinator
		time.Sleep(time.Minute)
		m.stage.at = events.Start
		c := m.lead(0)
		for i, j := range m.jobs {
			j.feed.c <- i
			close(j.feed.c)
		}
		began := time.Now()
		for i, r := range m.runs {
			if err := r.wait(); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		}
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("finished after %s", d)
		}
		for i, j := range m.jobs {
			if rows := j.rows.All(); !slices.Equal(rows, []int{i}) {
				t.Errorf("task %d: %v", i, rows)
			}
		}
		for range m.tasks {
			next[*events.TaskFinished](m.stage)
		}
		if n := count[*events.CheckpointTriggered](m.stage); n > 3 {
			t.Errorf("%d checkpoints for three ends of input at one time", n)
		}
		synctest.Wait()
		if control, _, err := m.log.LatestControl(t.Context()); err != nil || !control.Finished {
			t.Errorf("control %+v, %v", control, err)
		}
		_ = c
	})
}

// The coordinator is replaced, with and without its lease given back, while a worker dies and comes back: sums go on from
// the newest completed checkpoint.
func TestAJobGoesOnOverCoordinatorsAndWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		first := m.lead(time.Second)
		m.startAll()
		for _, j := range m.jobs {
			j.feed.c <- 1
		}
		time.Sleep(5 * time.Second)
		m.must(first.Close())
		m.lead(time.Second)
		time.Sleep(5 * time.Second)
		for i, r := range m.runs {
			if r.ended() {
				t.Fatalf("worker %d ended: %v", i, r.err)
			}
			if completed, failed, _ := m.jobs[i].spied().told(); len(completed) < 6 || !slices.IsSorted(completed) || len(failed) > 3 {
				t.Errorf("worker %d: completed %v, failed %v", i, completed, failed)
			}
		}
		m.runs[1].cancel(errShutdown)
		m.must(m.runs[1].wait())
		again := newJob()
		again.rows = m.jobs[1].rows
		m.jobs[1], m.runs[1] = again, m.runTask(m.tasks[1], again)
		time.Sleep(5 * time.Second)
		for _, j := range m.jobs {
			j.feed.c <- 11
			close(j.feed.c)
		}
		for i, r := range m.runs {
			if err := r.wait(); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
			if rows := m.jobs[i].rows.All(); !slices.Equal(rows, []int{1, 12}) {
				t.Errorf("task %d: %v, want 1 and, of the same key, 12", i, rows)
			}
		}
	})
}

// A coordinator with other tasks has led meanwhile, and has dropped these: they register anew when they are expected again.
func TestWorkersOfADroppedTaskComeBackByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		first := m.lead(0)
		m.startAll()
		time.Sleep(time.Second)
		m.checkpoint(first, 1, 1)
		m.must(first.Close())
		tasks := m.tasks
		m.tasks = []events.TaskID{"another"}
		second := m.lead(0)
		time.Sleep(time.Minute)
		m.must(second.Close())
		m.tasks = tasks
		third := m.lead(0)
		time.Sleep(time.Minute)
		m.checkpoint(third, 1, 11)
		for i, r := range m.runs {
			if r.ended() {
				t.Errorf("worker %d ended: %v", i, r.err)
			}
		}
		if rows := m.jobs[1].rows.All(); !slices.Equal(rows, []int{1, 12}) {
			t.Errorf("rows %v", rows)
		}
	})
}

// Whoever stops in order says so; whoever fails does not, and is missed.
func TestTheLogTellsWhoHasLeftFromWhoIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		c := m.lead(0)
		m.startAll()
		time.Sleep(time.Second)
		m.runs[0].cancel(errShutdown)
		m.must(m.runs[0].wait())
		time.Sleep(time.Minute)
		if left := next[*events.TaskLeft](m.stage); left.Task != m.tasks[0] || left.Attempt != 1 || left.Text == "" {
			t.Errorf("left %+v", left)
		}
		if n := count[*events.TaskLost](m.stage); n != 0 {
			t.Errorf("%d lost", n)
		}
		m.restart(0)
		time.Sleep(time.Second)
		synctest.Wait() // the worker has made the pipeline that is spied on
		m.jobs[0].spied().setRefuse(worker.ErrCommit)
		m.checkpoint(c, 0, 1)
		if err := m.runs[0].wait(); !errors.Is(err, worker.ErrCommit) {
			t.Errorf("the worker ended with %v", err)
		}
		time.Sleep(time.Minute)
		if lost := next[*events.TaskLost](m.stage); lost.Task != m.tasks[0] || count[*events.TaskLeft](m.stage) != 1 {
			t.Errorf("lost %+v", lost)
		}
	})
}

// Many checkpoints without a change: state is intact, and nothing grows.
func TestStateThatDoesNotChangeStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		m.lead(3 * time.Minute)
		m.startAll()
		for _, j := range m.jobs {
			j.feed.c <- 5
		}
		time.Sleep(80 * time.Minute) // the life of a chunk that nobody keeps is 1 h
		again := newJob()
		again.rows = m.jobs[2].rows
		m.runs[2].cancel(errShutdown)
		m.must(m.runs[2].wait())
		r := m.runTask(m.tasks[2], again)
		time.Sleep(10 * time.Second)
		again.feed.c <- 15
		synctest.Wait()
		if r.ended() {
			t.Fatal(r.err)
		}
		if rows := again.rows.All(); !slices.Equal(rows, []int{5, 20}) {
			t.Errorf("rows %v", rows)
		}
	})
}

func TestConfigurationsThatMakeNoSenseAreRefused(t *testing.T) {
	ok := func() worker.Config {
		j := newJob()
		c := j.config()
		st, err := memory.NewJob(memory.JobOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.Task, c.Log, c.Store = task, memlog.New(memlog.Config{Job: "job"}), st
		return c
	}
	if _, err := worker.New(ok()); err != nil {
		t.Fatal(err)
	}
	for i, spoil := range []func(c *worker.Config){
		func(c *worker.Config) { c.Task = "" },
		func(c *worker.Config) { c.Task = "a/b" },
		func(c *worker.Config) { c.Build = nil },
		func(c *worker.Config) { c.Log = nil },
		func(c *worker.Config) { c.Store = nil },
		func(c *worker.Config) { c.Index = 1 },
		func(c *worker.Config) { c.Index, c.Count = -1, 3 },
		func(c *worker.Config) { c.Count = -1 },
		func(c *worker.Config) { c.PresenceTTL = -1 },
		func(c *worker.Config) { c.CutTimeout = -1 },
		func(c *worker.Config) { c.UploadTimeout = -1 },
		func(c *worker.Config) { c.DrainTimeout = -1 },
		func(c *worker.Config) { c.Uploads = -1 },
		func(c *worker.Config) { c.MaxState = -1 },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := ok()
			spoil(&c)
			if _, err := worker.New(c); err == nil {
				t.Errorf("accepted %+v", c)
			}
		})
	}
}
