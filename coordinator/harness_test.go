package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what outlives a coordinator: one log, one store, and what its coordinators have said.
type world struct {
	t      *testing.T
	log    eventlog.Job
	mem    *memlog.Log // the log, if it is one in memory
	store  store.Store // behind faults
	faults *storetest.Faults
	lines  *lines
	ttl    func(digest string) time.Duration // life of a chunk on Redis, -1 for ever; nil in memory
}

// newWorld has a job's store; inside a bubble its time is virtual.
func newWorld(t *testing.T) *world {
	t.Helper()
	log := memlog.New(memlog.Config{Job: "orders"})
	job, err := memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) {
		epoch, instance, ok := log.Token()
		return store.Fence{Epoch: epoch, Instance: instance}, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	faults := &storetest.Faults{}
	return &world{t: t, log: log, mem: log, store: storetest.NewFaultyJob(job, faults), faults: faults, lines: &lines{}}
}

// newPlainWorld has a store as a library user has it: without a token, without chunks.
func newPlainWorld(t *testing.T) *world {
	t.Helper()
	log := memlog.New(memlog.Config{Job: "orders"})
	faults := &storetest.Faults{}
	return &world{
		t: t, log: log, mem: log, store: storetest.NewFaulty(memory.New(memory.Options{}), faults), faults: faults, lines: &lines{},
	}
}

// config is for checkpoints by count, unless change says otherwise.
func (w *world) config(change func(*coordinator.Config)) coordinator.Config {
	cfg := coordinator.Config{
		Job: w.log.Job(), Log: w.log, Store: w.store, RequiredAcks: 2, Logger: zerolog.New(w.lines),
	}
	if change != nil {
		change(&cfg)
	}
	if len(cfg.Tasks) > 0 {
		cfg.RequiredAcks = 0
	}
	return cfg
}

// open starts a coordinator that leads; it is closed at the end of the test.
func (w *world) open(change func(*coordinator.Config)) *coordinator.Coordinator {
	w.t.Helper()
	c, err := coordinator.Open(w.t.Context(), w.config(change))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// run starts a candidate; stop drains it and returns what Run returned.
func (w *world) run(change func(*coordinator.Config)) (c *coordinator.Coordinator, stop func() error) {
	w.t.Helper()
	c, err := coordinator.New(w.config(change))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	w.t.Cleanup(func() { _ = stop() })
	return c, stop
}

// publish puts an event into the log, as anybody could.
func (w *world) publish(list ...events.Event) {
	w.t.Helper()
	for _, e := range list {
		env := events.Envelope{ID: eventlog.NewEventID(), At: time.Now().UnixMilli(), Event: e}
		if err := w.log.Publish(w.t.Context(), env); err != nil {
			w.t.Fatal(err)
		}
	}
}

// events are all events of the log that can be read.
func (w *world) events() []events.Envelope {
	w.t.Helper()
	var list []events.Envelope
	for batch, err := range w.log.Read(w.t.Context(), events.Start, events.End) {
		if err != nil && !errors.Is(err, eventlog.ErrNoLog) {
			w.t.Fatal(err)
		}
		for _, e := range batch.Entries {
			if e.Poison == nil {
				list = append(list, e.Envelope)
			}
		}
	}
	return list
}

// fold folds the whole log anew and checks it.
func (w *world) fold() *projection.State {
	w.t.Helper()
	s := projection.New(w.log.Job())
	for batch, err := range w.log.Read(w.t.Context(), events.Start, events.End) {
		if err != nil && !errors.Is(err, eventlog.ErrNoLog) {
			w.t.Fatal(err)
		}
		for _, e := range batch.Entries {
			if e.Poison != nil {
				s.Skip(e.Position)
				continue
			}
			s.Apply(e.Position, e.Envelope)
		}
	}
	if err := s.Check(); err != nil {
		w.t.Errorf("fold of the log: %v", err)
	}
	return s
}

// count counts the events of one type.
func count[E events.Event](w *world) int {
	n := 0
	for _, env := range w.events() {
		if _, ok := env.Event.(E); ok {
			n++
		}
	}
	return n
}

// lines is what coordinators have logged.
type lines struct {
	mu  sync.Mutex
	all []string // guarded by mu
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(bytes.TrimSpace(b)))
	return len(b), nil
}

// with returns the lines that contain all the words.
func (l *lines) with(words ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for _, line := range l.all {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func trigger(t *testing.T, c *coordinator.Coordinator, opts coordinator.TriggerOptions) *coordinator.Handle {
	t.Helper()
	h, err := c.Trigger(t.Context(), opts)
	if err != nil {
		t.Fatalf("trigger: %v", err)
	}
	return h
}

func ack(t *testing.T, c *coordinator.Coordinator, id events.CheckpointID, task events.TaskID) projection.OutcomeKind {
	t.Helper()
	o, err := c.Acknowledge(t.Context(), id, task, coordinator.Ack{})
	if err != nil {
		t.Fatalf("ack of %s for %s: %v", task, id, err)
	}
	return o.Kind
}

func wait(t *testing.T, h *coordinator.Handle) {
	t.Helper()
	if err := h.Wait(t.Context()); err != nil {
		t.Fatalf("checkpoint %s: %v", h.ID, err)
	}
}

// waitFailed wants the checkpoint to fail for the reason.
func waitFailed(t *testing.T, h *coordinator.Handle, reason events.FailureReason) {
	t.Helper()
	_ = failure(t, h, reason)
}

// failure is waitFailed that gives the verdict.
func failure(t *testing.T, h *coordinator.Handle, reason events.FailureReason) *coordinator.FailedError {
	t.Helper()
	err := h.Wait(t.Context())
	var failed *coordinator.FailedError
	if !errors.As(err, &failed) || failed.Reason != reason || !errors.Is(err, coordinator.ErrFailed) {
		t.Fatalf("checkpoint %s: %v, want it to fail: %s", h.ID, err, reason)
	}
	return failed
}

func wantRefused(t *testing.T, err error, reason events.RefusalReason) {
	t.Helper()
	var refused *coordinator.RefusedError
	if !errors.As(err, &refused) || refused.Reason != reason || !errors.Is(err, coordinator.ErrRefused) {
		t.Fatalf("got %v, want a refusal: %s", err, reason)
	}
	if refused.Remedy == "" {
		t.Errorf("refusal %s has no remedy", reason)
	}
}

func wantPending(t *testing.T, c *coordinator.Coordinator, want int) {
	t.Helper()
	got, err := c.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%d pending, want %d", got, want)
	}
}

// wantRecord loads a record and compares whether it is completed.
func wantRecord(t *testing.T, c *coordinator.Coordinator, id events.CheckpointID, completed bool) *store.Checkpoint {
	t.Helper()
	cp, err := c.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if cp.Completed != completed {
		t.Errorf("record of %s: completed %t, want %t", id, cp.Completed, completed)
	}
	return cp
}

func tasks(n int) []events.TaskID {
	list := make([]events.TaskID, n)
	for i := range list {
		list[i] = events.TaskID(fmt.Sprintf("task-%03d", i+1))
	}
	return list
}

func timeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func digestOf(t *testing.T, content string) string {
	t.Helper()
	return store.Digest([]byte(content))
}

// newWorldWithLogFaults asks fault about each write of a coordinator to its log; n counts those of one kind.
func newWorldWithLogFaults(t *testing.T, fault func(op memlog.Op, n int) memlog.Outcome) *world {
	t.Helper()
	w := newWorld(t)
	calls := map[memlog.Op]int{}
	var mu sync.Mutex
	log := memlog.New(memlog.Config{Job: "orders", Fault: func(_ context.Context, op memlog.Op) memlog.Outcome {
		mu.Lock()
		defer mu.Unlock()
		switch op {
		case memlog.OpAppend, memlog.OpWriteControl, memlog.OpWriteTasks, memlog.OpKeepTasks, memlog.OpSaveFold, memlog.OpResign:
			calls[op]++
			return fault(op, calls[op])
		default: // the others go well
		}
		return memlog.Outcome{}
	}})
	job, err := memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) {
		epoch, instance, ok := log.Token()
		return store.Fence{Epoch: epoch, Instance: instance}, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.log, w.mem, w.store = log, log, storetest.NewFaultyJob(job, w.faults)
	return w
}
