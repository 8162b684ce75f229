package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/store"
)

// mortal is the outside world of one process. At a step of its choice the process dies: from then on nothing that it does
// has an effect, like after SIGKILL. It is told that it is fenced, so that what is left of it goes away quickly.
type mortal struct {
	journal
	kill func(step string) bool // asked before and after each step, "before keep" and "keep"

	turn sync.Mutex // held over a step: no other begins between its effect and the death after it

	mu    sync.Mutex
	dead  bool          // guarded by mu
	died  chan struct{} // closed when dead is set
	steps []string      // guarded by mu; those that happened
}

// journal is eventlog.Job under a name that does not hide its method Job.
type journal = interface{ eventlog.Job }

func newMortal(log eventlog.Job, kill func(step string) bool) *mortal {
	return &mortal{journal: log, kill: kill, died: make(chan struct{})}
}

func (m *mortal) lives(step string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false
	}
	if m.kill != nil && m.kill(step) {
		m.dead = true
		close(m.died)
		return false
	}
	if !strings.HasPrefix(step, "before ") {
		m.steps = append(m.steps, step)
	}
	return true
}

// do is one step.
func (m *mortal) do(step string, fenced error, effect func() error) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if !m.lives("before " + step) {
		return fenced
	}
	err := effect()
	if !m.lives(step) {
		return fenced
	}
	return err
}

func (m *mortal) Campaign(ctx context.Context, c eventlog.Candidate) (term eventlog.Term, err error) {
	m.turn.Lock()
	defer m.turn.Unlock()
	if m.isDead() {
		return nil, eventlog.ErrFenced
	}
	if term, err = m.journal.Campaign(ctx, c); err == nil && !m.lives("campaign") {
		err = eventlog.ErrFenced
	}
	return mortalTerm{term, m}, err
}

type mortalTerm struct {
	eventlog.Term
	m *mortal
}

func (t mortalTerm) Append(ctx context.Context, envs ...events.Envelope) (at []events.Position, err error) {
	err = t.m.do("append "+envs[0].Kind().String(), eventlog.ErrFenced, func() error {
		at, err = t.Term.Append(ctx, envs...)
		return err
	})
	return at, err
}

func (t mortalTerm) Renew(ctx context.Context) error {
	return t.m.do("renew", eventlog.ErrFenced, func() error { return t.Term.Renew(ctx) })
}

func (t mortalTerm) Resign(ctx context.Context) error {
	return t.m.do("resign", eventlog.ErrFenced, func() error { return t.Term.Resign(ctx) })
}

func (t mortalTerm) WriteControl(ctx context.Context, c eventlog.Control) error {
	return t.m.do("write control", eventlog.ErrFenced, func() error { return t.Term.WriteControl(ctx, c) })
}

func (t mortalTerm) WriteTasks(ctx context.Context, tasks map[events.TaskID]eventlog.Assignment) error {
	return t.m.do("write tasks", eventlog.ErrFenced, func() error { return t.Term.WriteTasks(ctx, tasks) })
}

func (t mortalTerm) KeepTasks(ctx context.Context, tasks []events.TaskID) error {
	return t.m.do("keep tasks", eventlog.ErrFenced, func() error { return t.Term.KeepTasks(ctx, tasks) })
}

func (t mortalTerm) SaveFold(ctx context.Context, at events.Position, state []byte) error {
	return t.m.do("save fold", eventlog.ErrFenced, func() error { return t.Term.SaveFold(ctx, at, state) })
}

// mortalStore is the store as the process sees it.
type mortalStore struct {
	store.JobStore
	m *mortal
}

func (s mortalStore) Fenced(f store.Fence) store.JobStore {
	return mortalStore{s.JobStore.Fenced(f), s.m}
}

func (s mortalStore) Create(ctx context.Context, cp *store.Checkpoint) error {
	return s.m.do("create "+cp.ID.String(), store.ErrFenced, func() error { return s.JobStore.Create(ctx, cp) })
}

func (s mortalStore) Complete(
	ctx context.Context, id events.CheckpointID, merge func(*store.Checkpoint) error,
) (cp *store.Checkpoint, err error) {
	err = s.m.do("complete "+id.String(), store.ErrFenced, func() error {
		cp, err = s.JobStore.Complete(ctx, id, merge)
		return err
	})
	return cp, err
}

func (s mortalStore) Delete(ctx context.Context, id events.CheckpointID) (was bool, err error) {
	err = s.m.do("delete "+id.String(), store.ErrFenced, func() error {
		was, err = s.JobStore.Delete(ctx, id)
		return err
	})
	return was, err
}

func (s mortalStore) Keep(ctx context.Context, digests []string) (missing []string, err error) {
	err = s.m.do("keep", store.ErrFenced, func() error {
		missing, err = s.JobStore.Keep(ctx, digests)
		return err
	})
	return missing, err
}

func (s mortalStore) Release(ctx context.Context, digests []string, grace time.Duration) error {
	return s.m.do("release", store.ErrFenced, func() error { return s.JobStore.Release(ctx, digests, grace) })
}

// job is what the lives of its coordinators work on: two tasks that share a chunk and have one of their own.
type job struct {
	*world
	change  func(*coordinator.Config)
	lives   int
	digests map[string]bool // all that tasks have ever stored
}

func newJob(w *world, change func(*coordinator.Config)) *job {
	return &job{world: w, change: change, digests: map[string]bool{}}
}

// live runs one coordinator that makes up to n checkpoints, until it dies at a step or is through. It returns its steps.
func (j *job) live(n int, kill func(step string) bool) []string {
	j.t.Helper()
	j.lives++
	m := newMortal(j.log, kill)
	w := *j.world
	w.log, w.store = m, mortalStore{j.store.(store.JobStore), m}
	cfg := w.config(func(cfg *coordinator.Config) {
		cfg.Retain, cfg.Instance = 1, events.InstanceID(fmt.Sprintf("life-%d", j.lives))
		if j.change != nil {
			j.change(cfg)
		}
	})
	ctx, cancel := context.WithCancel(j.t.Context())
	defer cancel()
	go func() {
		select {
		case <-m.died:
			cancel()
		case <-ctx.Done():
		}
	}()
	c, err := coordinator.Open(ctx, cfg)
	if err != nil {
		if ctx.Err() == nil {
			j.t.Fatal(err)
		}
		return m.steps
	}
	for range n {
		if err := j.checkpoint(ctx, m, c); err != nil {
			if ctx.Err() == nil && !errors.Is(err, coordinator.ErrNotLeading) && !errors.Is(err, coordinator.ErrFailed) {
				j.t.Errorf("checkpoint: %v", err)
			}
			break
		}
	}
	if ctx.Err() == nil && n > 0 {
		j.eventually("nothing left to discard", func() bool { return m.isDead() || len(j.fold().Waste()) == 0 })
	}
	_ = c.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// settled returns when no step is between its effect and the death after it.
func (m *mortal) settled() {
	m.turn.Lock()
	defer m.turn.Unlock()
}

// checkpoint is one from trigger to verdict, with the tasks' side.
func (j *job) checkpoint(ctx context.Context, m *mortal, c *coordinator.Coordinator) error {
	h, err := c.Trigger(ctx, none)
	if err != nil {
		return err
	}
	if m.settled(); m.isDead() { // the trigger can be read before the death that follows its append
		return coordinator.ErrNotLeading
	}
	for _, task := range []string{"task-1", "task-2"} {
		var handle events.StateHandle
		for name, content := range map[string]string{"shared": "shared", "own": task + " in " + h.ID.String()} {
			ref, err := j.store.(store.JobStore).PutChunk(ctx, []byte(content))
			if err != nil {
				return err
			}
			j.digests[ref.Digest] = true
			handle.Chunks = append(handle.Chunks, events.ChunkRef{Name: name, Digest: events.Digest(ref.Digest), Bytes: ref.Bytes})
		}
		if _, err := c.Acknowledge(ctx, h.ID, events.TaskID(task), coordinator.Ack{Handle: handle}); err != nil {
			return err
		}
	}
	return h.Wait(ctx)
}

// eventually polls until the condition holds; in a bubble that takes no time.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		if holds() {
			return
		}
		<-tick.C
	}
	w.t.Fatalf("not within 30 s: %s\n%s", what, strings.Join(w.lines.with(""), "\n"))
}

// settle lets a last coordinator repair what is left, and then compares keys and log.
func (j *job) settle() {
	j.t.Helper()
	j.live(1, nil)
	j.audit()
}

// audit compares records and chunks with the fold of the log, when no coordinator runs.
func (j *job) audit() {
	j.t.Helper()
	s := j.fold()
	if len(s.Live())+len(s.Waste()) > 0 {
		j.t.Errorf("left: %d live, %d to discard", len(s.Live()), len(s.Waste()))
	}
	completed := map[events.CheckpointID]bool{}
	for _, cp := range s.Completed() {
		completed[cp.ID] = true
	}
	for id := range s.NextID() + 2 {
		record, err := j.store.Load(j.t.Context(), id)
		_, known := s.Checkpoint(id)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			j.t.Errorf("record %s: %v", id, err)
		case completed[id] && (err != nil || !record.Completed || len(record.State) != 2):
			j.t.Errorf("checkpoint %s completed, its record is %v, %v", id, record, err)
		case !completed[id] && err == nil && record.Completed:
			j.t.Errorf("checkpoint %s did not complete, its record says so", id)
		case !completed[id] && err == nil && known:
			j.t.Errorf("checkpoint %s is over, its record is still there", id)
		}
	}
	control, _, err := j.log.LatestControl(j.t.Context())
	if err != nil || control.LatestCompleted != s.LatestCompleted() {
		j.t.Errorf("control says %s, %v, the log %s", control.LatestCompleted, err, s.LatestCompleted())
	}
	if j.ttl == nil {
		time.Sleep(store.DefaultChunkLife + coordinator.DefaultChunkGrace + time.Minute)
	}
	stays := s.References()
	for digest := range j.digests {
		if permanent := j.permanent(digest); permanent != stays.Has(events.Digest(digest)) {
			j.t.Errorf("chunk %.8s is permanent: %t", digest, permanent)
		}
	}
}

// permanent reports whether a chunk is there for good.
func (w *world) permanent(digest string) bool {
	w.t.Helper()
	if w.ttl != nil {
		return w.ttl(digest) == -1
	}
	_, err := w.store.(store.JobStore).GetChunk(w.t.Context(), digest) // every life is over by now
	return err == nil
}
