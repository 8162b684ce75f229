package projection_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// machine throws random events, legal and illegal, at a fold and checks the promises after each of them.
type machine struct {
	state    *projection.State
	timing   *projection.Timing
	now      time.Duration
	pos      events.Position
	log      []entry
	epoch    events.Epoch
	verdicts map[events.CheckpointID]projection.Checkpoint
	trigger  map[events.CheckpointID]events.Epoch
	acked    map[string]bool // checkpoint, task, attempt
	latest   events.CheckpointID
}

type entry struct {
	pos events.Position
	env events.Envelope
}

func newMachine() *machine {
	s := projection.New("orders")
	return &machine{
		state: s, timing: projection.NewTiming(0, s), latest: events.NoCheckpoint,
		verdicts: map[events.CheckpointID]projection.Checkpoint{},
		trigger:  map[events.CheckpointID]events.Epoch{},
		acked:    map[string]bool{},
	}
}

var (
	someTasks  = []events.TaskID{"a", "b", "c", "stranger"}
	chunkNames = []string{"p", "q", "r", "s"}
)

// drawEvent makes any event; numbers are near those in use so that most of them mean something.
func drawEvent(t *rapid.T, s *projection.State) events.Event {
	task := rapid.SampledFrom(someTasks).Draw(t, "task")
	row, _ := s.Task(task)
	attempt := max(row.Attempt+events.Attempt(rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(t, "attempt off by")), 1)
	epoch := max(s.Epoch()+events.Epoch(rapid.SampledFrom([]int{0, 0, 0, 0, 0, -1, 1}).Draw(t, "epoch off by")), 1)
	id := events.CheckpointID(rapid.Int64Range(max(int64(s.NextID())-6, 0), int64(s.NextID())).Draw(t, "checkpoint"))
	request := events.RequestID(fmt.Sprintf("r%d", rapid.IntRange(0, 9).Draw(t, "request")))
	typ := rapid.SampledFrom([]events.CheckpointType{"checkpoint", "checkpoint", "savepoint"}).Draw(t, "type")
	joining := rapid.SampledFrom([]string{"", "", "", "payday"}).Draw(t, "joining")
	switch rapid.SampledFrom(append(events.Kinds(), events.KindTaskAcked, events.KindTaskAcked, events.KindTaskAcked,
		events.KindTaskRestored, events.KindCheckpointTriggered, events.KindCheckpointTriggered)).Draw(t, "kind") {
	case events.KindCoordinatorStarted:
		return drawStart(t, s)
	case events.KindCheckpointRequested:
		return &events.CheckpointRequested{Request: request, Type: typ, JoiningEvent: joining}
	case events.KindAbortRequested:
		return &events.AbortRequested{Request: request, UpTo: id}
	case events.KindRequestRefused:
		return &events.RequestRefused{Epoch: epoch, Request: request, Reason: rapid.SampledFrom(events.RefusalReasons()).Draw(t, "why")}
	case events.KindCheckpointTriggered:
		return drawTrigger(t, s, epoch, typ, joining)
	case events.KindTaskRegistered:
		return &events.TaskRegistered{
			Task: task, Instance: events.InstanceID(fmt.Sprintf("%s%d", task, rapid.IntRange(1, 30).Draw(t, "instance"))),
		}
	case events.KindTaskRestored:
		return &events.TaskRestored{Task: task, Attempt: attempt, Checkpoint: row.Restore}
	case events.KindTaskFinished:
		return &events.TaskFinished{Task: task, Attempt: attempt, Checkpoint: id}
	case events.KindTaskLost:
		return &events.TaskLost{Epoch: epoch, Task: task, Attempt: attempt}
	case events.KindTaskAcked:
		return &events.TaskAcked{
			Checkpoint: id, Task: task, Attempt: attempt, Epoch: epoch, JoiningEvent: joining, Handle: drawHandle(t),
		}
	case events.KindTaskDeclined:
		return &events.TaskDeclined{Checkpoint: id, Task: task, Attempt: attempt, Epoch: epoch, Reason: events.DeclinedOther}
	case events.KindCheckpointCompleted:
		return &events.CheckpointCompleted{Epoch: epoch, Checkpoint: id, Forced: rapid.IntRange(0, 9).Draw(t, "forced") == 0}
	case events.KindCheckpointFailed:
		return &events.CheckpointFailed{Epoch: epoch, Checkpoint: id, Reason: rapid.SampledFrom(events.FailureReasons()).Draw(t, "why")}
	case events.KindCheckpointsRetired:
		return &events.CheckpointsRetired{Epoch: epoch, Checkpoints: []events.CheckpointID{id}}
	case events.KindStateDiscarded:
		return &events.StateDiscarded{Epoch: epoch, Checkpoints: []events.CheckpointID{id}}
	case events.KindLogTrimmed:
		return &events.LogTrimmed{Epoch: epoch, Before: events.Position{Ms: rapid.Uint64Range(1, 9).Draw(t, "before")}}
	case events.KindLogGapFound:
		return &events.LogGapFound{Epoch: epoch, Cause: events.GapDeleted, After: events.Position{Ms: uint64(id)}}
	}
	return nil
}

func drawStart(t *rapid.T, s *projection.State) events.Event {
	p := events.Policy{
		MaxConcurrent: rapid.Int64Range(1, 3).Draw(t, "max"), Retain: rapid.Int64Range(1, 3).Draw(t, "retain"),
		QueueLimit: rapid.Int64Range(1, 3).Draw(t, "queue"), Interval: rapid.Int64Range(0, 5).Draw(t, "interval"),
		MinPause: rapid.Int64Range(0, 5).Draw(t, "pause"), Timeout: rapid.Int64Range(0, 20).Draw(t, "timeout"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "set") {
	case 0:
		p.Count = 2
	case 1:
		p.Tasks = []events.TaskID{"c", "a"}
	default:
		p.Tasks = []events.TaskID{"b", "a"}
	}
	rise := rapid.SampledFrom([]int{1, 1, 1, 0, -1, 7, 5000}).Draw(t, "rise")
	return &events.CoordinatorStarted{
		Epoch:    max(s.Epoch()+events.Epoch(rise), 1),
		Instance: events.InstanceID(rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "instance")), Policy: p,
	}
}

func drawTrigger(t *rapid.T, s *projection.State, epoch events.Epoch, typ events.CheckpointType, joining string) events.Event {
	e := &events.CheckpointTriggered{
		Epoch: epoch, Checkpoint: s.NextID() + events.CheckpointID(rapid.IntRange(-1, 1).Draw(t, "id off by")), Type: typ,
		JoiningEvent: joining, Count: s.Policy().Count, Timeout: s.Policy().Timeout,
	}
	if rapid.IntRange(0, 2).Draw(t, "answers") == 0 {
		e.Request = events.RequestID(fmt.Sprintf("r%d", rapid.IntRange(0, 9).Draw(t, "request")))
	}
	tasks := s.Policy().Tasks
	slices.Sort(tasks)
	for _, id := range tasks {
		row, ok := s.Task(id)
		if !ok || row.Phase == projection.TaskIsFinished || rapid.IntRange(0, 19).Draw(t, "leave out") == 0 {
			continue
		}
		old := events.Attempt(0)
		if row.Attempt > 1 && rapid.IntRange(0, 19).Draw(t, "old attempt") == 0 {
			old = 1
		}
		e.Tasks = append(e.Tasks, events.TaskAttempt{Task: id, Attempt: row.Attempt - old})
	}
	return e
}

func drawHandle(t *rapid.T) (h events.StateHandle) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(chunkNames), 0, 3, rapid.ID[string]).Draw(t, "chunks") {
		h.Chunks = append(h.Chunks, events.ChunkRef{Name: name, Digest: digest(name), Bytes: 7})
	}
	return h
}

// fold applies one event and checks every promise; the error says which one broke.
func (m *machine) fold(e events.Event) error {
	m.pos.Ms++
	env := events.Envelope{ID: "e", At: int64(m.pos.Ms), Event: e}
	m.log = append(m.log, entry{m.pos, env})
	var before []byte
	if len(m.log)%7 == 0 { // a full comparison now and then
		before = m.state.Essence(false)
	}
	o := m.state.Apply(m.pos, env)
	if before != nil && !o.Changed() && !bytes.Equal(before, m.state.Essence(false)) {
		return fmt.Errorf("%s is %s and changed the state", e.Kind(), o.Kind)
	}
	m.timing.Observe(m.now, m.state, env, o)
	if err := m.state.Check(); err != nil {
		return fmt.Errorf("after %s (%s): %w", e.Kind(), o.Kind, err)
	}
	return m.promises(e, o)
}

func (m *machine) promises(e events.Event, o projection.Outcome) error {
	s := m.state
	if s.Epoch() < m.epoch {
		return fmt.Errorf("the epoch went back from %s to %s", m.epoch, s.Epoch())
	}
	if s.Epoch() != m.epoch && e.Kind() != events.KindCoordinatorStarted {
		return fmt.Errorf("%s changed the epoch", e.Kind())
	}
	m.epoch = s.Epoch()
	for id, was := range m.verdicts {
		is, ok := s.Checkpoint(id)
		retired := was.Phase == projection.PhaseCompleted && is.Phase == projection.PhaseRetired
		if !ok || is.Phase != was.Phase && !retired || is.Ended != was.Ended || is.Reason != was.Reason {
			return fmt.Errorf("the verdict on %s changed from %s at %s to %s at %s", id, was.Phase, was.Ended, is.Phase, is.Ended)
		}
	}
	for _, id := range s.Ended() {
		c, _ := s.Checkpoint(id)
		if _, again := m.verdicts[id]; again {
			return fmt.Errorf("%s ended twice", id)
		}
		if !c.Phase.Terminal() || c.Ended != m.pos {
			return fmt.Errorf("%s ended and is %s", id, c.Phase)
		}
		m.verdicts[id] = c
	}
	if o.Ended != len(s.Ended()) {
		return fmt.Errorf("the outcome counts %d ended, the state %d", o.Ended, len(s.Ended()))
	}
	return m.promisesOf(e, o)
}

func (m *machine) promisesOf(e events.Event, o projection.Outcome) error {
	s := m.state
	switch e := e.(type) {
	case *events.CheckpointTriggered:
		if o.Kind != projection.Applied {
			break
		}
		if _, used := m.trigger[e.Checkpoint]; used || e.Epoch != s.Epoch() {
			return fmt.Errorf("checkpoint %s of epoch %s was triggered again or by a stranger", e.Checkpoint, e.Epoch)
		}
		m.trigger[e.Checkpoint] = e.Epoch
	case *events.TaskAcked:
		key := fmt.Sprint(e.Checkpoint, e.Task)
		if o.Changed() && m.acked[key] {
			return fmt.Errorf("the ack %s counted twice", key)
		}
		if o.Changed() && m.trigger[e.Checkpoint] != e.Epoch {
			return fmt.Errorf("an ack to epoch %s counted in a checkpoint of epoch %s", e.Epoch, m.trigger[e.Checkpoint])
		}
		m.acked[key] = m.acked[key] || o.Changed()
	case *events.CheckpointCompleted:
		if o.Kind != projection.Applied {
			break
		}
		c, _ := s.Checkpoint(e.Checkpoint)
		if !c.Forced && c.Acked != c.Required || e.Epoch != s.Epoch() {
			return fmt.Errorf("%s completed with %d of %d acks", c.ID, c.Acked, c.Required)
		}
		if c.Type == events.TypeCheckpoint {
			m.latest = max(m.latest, c.ID)
		}
	case *events.TaskRegistered:
		if row, _ := s.Task(e.Task); o.Kind == projection.Applied && row.Restore != m.latest {
			return fmt.Errorf("task %s is to restore %s, the newest is %s", e.Task, row.Restore, m.latest)
		}
	default: // the promises about the others are in promises
	}
	if s.LatestCompleted() != m.latest {
		return fmt.Errorf("the newest completed is %s, not %s", s.LatestCompleted(), m.latest)
	}
	return nil
}

// decided checks that decisions are stable, well-formed, and accepted by the fold when carried out.
func (m *machine) decided(g projection.Gates) error {
	list := projection.Decide(m.state, m.timing, m.now, g)
	again := projection.Decide(m.state, m.timing, m.now, g)
	if fmt.Sprint(list) != fmt.Sprint(again) {
		return fmt.Errorf("decided %v, then %v", list, again)
	}
	keys := map[projection.Key]bool{}
	for _, d := range list {
		if keys[d.Key()] {
			return fmt.Errorf("two decisions have the key %v", d.Key())
		}
		keys[d.Key()] = true
	}
	if len(list) == 0 {
		return nil
	}
	copied := m.state.Clone()
	p := m.pos
	for _, d := range list {
		p.Ms++
		e := effect(m.state, d)
		if o := copied.Apply(p, events.Envelope{ID: "e", Event: e}); o.Kind != projection.Applied {
			return fmt.Errorf("%s was decided and is %s (%s)", showDecision(d), o.Kind, o.Why)
		}
		if err := copied.Check(); err != nil {
			return fmt.Errorf("after %s: %w", showDecision(d), err)
		}
	}
	return nil
}

// due checks that nothing but time makes Decide change its answer before NextDue says so, and that it does then.
func (m *machine) due() error {
	due, ok := projection.NextDue(m.state, m.timing, m.now)
	show := func(now time.Duration) string {
		var words []string
		for _, d := range projection.Decide(m.state, m.timing, now, projection.Gates{}) {
			words = append(words, fmt.Sprint(d.Key()))
		}
		return fmt.Sprint(words)
	}
	if !ok {
		due = m.now + time.Hour
	}
	if due <= m.now {
		return fmt.Errorf("due at %s, which is not after %s", due, m.now)
	}
	if a, b := show(m.now), show(due-1); a != b {
		return fmt.Errorf("decisions change from %s to %s between %s and %s without a due time", a, b, m.now, due)
	}
	return nil
}

func TestTheFoldKeepsItsPromisesUnderAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		for _, e := range opening() {
			if err := m.fold(e); err != nil {
				t.Fatal(err)
			}
		}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"event":  func(t *rapid.T) { check(m.fold(drawEvent(t, m.state))) },
			"event2": func(t *rapid.T) { check(m.fold(drawEvent(t, m.state))) },
			"act": func(t *rapid.T) {
				list := projection.Decide(m.state, m.timing, m.now, projection.Gates{})
				if len(list) > 0 {
					check(m.fold(effect(m.state, rapid.SampledFrom(list).Draw(t, "decision"))))
				}
			},
			"again": func(t *rapid.T) { check(m.fold(rapid.SampledFrom(m.log).Draw(t, "entry").env.Event)) },
			"time": func(t *rapid.T) {
				m.now += time.Duration(rapid.Int64Range(0, int64(10*time.Millisecond)).Draw(t, "passes"))
			},
			"decide": func(t *rapid.T) {
				check(m.decided(projection.Gates{DrainOver: rapid.IntRange(0, 5).Draw(t, "drain") == 0}))
			},
			"due": func(*rapid.T) { check(m.due()) },
		})
	})
}

// opening is a log in which things are ready to happen.
func opening() []events.Event {
	p := events.Policy{Tasks: []events.TaskID{"a", "b"}, MaxConcurrent: 2, Retain: 2, QueueLimit: 3, Interval: 3, Timeout: 20}
	list := []events.Event{&events.CoordinatorStarted{Epoch: 1, Instance: "c1", Policy: p}}
	for _, id := range p.Tasks {
		list = append(list,
			&events.TaskRegistered{Task: id, Instance: events.InstanceID(id + "0")},
			&events.TaskRestored{Task: id, Attempt: 1, Checkpoint: events.NoCheckpoint})
	}
	return list
}
