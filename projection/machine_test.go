package projection_test

import (
	"bytes"
	"fmt"
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
	acked    map[string]bool              // checkpoint, task, attempt
	kept     map[events.CheckpointID]bool // completed, neither retired nor withdrawn, no savepoint
}

// latest is the newest that is kept.
func (m *machine) latest() events.CheckpointID {
	latest := events.NoCheckpoint
	for id := range m.kept {
		latest = max(latest, id)
	}
	return latest
}

type entry struct {
	pos events.Position
	env events.Envelope
}

func newMachine() *machine {
	s := projection.New("orders")
	return &machine{
		state: s, timing: projection.NewTiming(0, s), kept: map[events.CheckpointID]bool{},
		verdicts: map[events.CheckpointID]projection.Checkpoint{},
		trigger:  map[events.CheckpointID]events.Epoch{},
		acked:    map[string]bool{},
	}
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
			m.kept[c.ID] = true
		}
	case *events.CheckpointsRetired:
		m.gone(o, e.Checkpoints)
	case *events.CheckpointsWithdrawn:
		m.gone(o, e.Checkpoints)
		if o.Kind == projection.Applied && len(m.kept) == 0 && !e.ToNothing {
			return fmt.Errorf("no restore point is left after the withdrawal of %v", e.Checkpoints)
		}
	case *events.TaskRegistered:
		if row, _ := s.Task(e.Task); o.Kind == projection.Applied && row.Restore != m.latest() {
			return fmt.Errorf("task %s is to restore %s, the newest is %s", e.Task, row.Restore, m.latest())
		}
	default: // the promises about the others are in promises
	}
	if s.LatestCompleted() != m.latest() {
		return fmt.Errorf("the newest completed is %s, not %s", s.LatestCompleted(), m.latest())
	}
	return nil
}

// gone notes what is kept no more.
func (m *machine) gone(o projection.Outcome, ids []events.CheckpointID) {
	for _, id := range ids {
		if c, ok := m.state.Checkpoint(id); o.Kind == projection.Applied && (!ok || c.Phase != projection.PhaseCompleted) {
			delete(m.kept, id)
		}
	}
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
	p, withdrawn := m.pos, false
	for _, d := range list {
		p.Ms++
		e := effect(m.state, d)
		o := copied.Apply(p, events.Envelope{ID: "e", Event: e})
		if o.Kind == projection.Duplicate && withdrawn { // of one of the same checkpoint
			continue
		}
		withdrawn = withdrawn || e.Kind() == events.KindCheckpointsWithdrawn
		if o.Kind != projection.Applied {
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
			"round": func(*rapid.T) {
				for _, e := range wholeRound(m.state) {
					check(m.fold(e))
				}
			},
			"doubt": func(t *rapid.T) {
				for _, e := range drawDoubt(t, m.state) {
					check(m.fold(e))
				}
			},
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
