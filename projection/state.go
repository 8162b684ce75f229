package projection

import (
	"maps"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
)

// Bounds of the fold. What is beyond one is refused or forgotten as the doc of each says.
const (
	// MaxEpochRise is the largest step from one epoch to the next; a larger one is Refused, so that one poisoned entry
	// cannot use up the numbers.
	MaxEpochRise = 1000
	// MaxIDLead is how far ahead of the ids in use an event that anyone can write may push [State.NextID].
	MaxIDLead = 1 << 20
	// MaxLive is how many checkpoints and savepoints may be pending or finalizing; a further trigger is Refused.
	MaxLive = 1024
	// MaxSavepoints is how many completed savepoints are kept; a further request is refused.
	MaxSavepoints = 1000
	// MaxQueue bounds the queue of requests, whatever the policy says.
	MaxQueue = 1024
	// MaxRequests is how many request ids are remembered, oldest answered ones forgotten first. A repeated request is
	// recognised within this window.
	MaxRequests = 4096
	// MaxHistory is how many ended checkpoints are remembered after all else about them is gone.
	MaxHistory = 1000
	// MaxMissing is how many missing tasks an ended checkpoint names; MissingCount has their full number.
	MaxMissing = 100
	// MaxInstances is how many instances are remembered per task: a registration of one of them again is a Duplicate.
	MaxInstances = 16
	// MaxLooseTasks bounds the task table while no set of tasks is in force (no coordinator yet, or checkpoints by count).
	MaxLooseTasks = 1 << 16
	// MaxText is how many bytes of a text for a person (cause, by, text, host) are kept, and the longest joining event
	// that a request may name.
	MaxText = 1024
)

// State is the fold of one job's log up to a position: everything that the coordinator and the auditors believe. It is
// changed by [State.Apply], [State.Skip] and [State.Assume] alone. Not safe for concurrent use; see [State.Clone].
type State struct {
	job      events.JobID
	position events.Position

	epoch    events.Epoch
	instance events.InstanceID
	since    events.Position // where the epoch began; zero if none has
	maxEpoch events.Epoch
	policy   events.Policy
	expected []events.TaskID         // policy.Tasks, sorted; replaced, never changed: clones share it
	index    map[events.TaskID]int32 // place in expected; likewise
	trimmed  events.Position
	gaps     int64
	gap      events.LogGapFound

	tasks        map[events.TaskID]*task
	ready        int // expected tasks that are restored or finished
	finished     int // tasks of all that are finished
	doubting     int // tasks that doubt a restore point
	attemptFloor events.Attempt
	tasksVersion int64

	nextID      events.CheckpointID
	checkpoints map[events.CheckpointID]*checkpoint // all of the lists below
	live        []*checkpoint                       // pending and finalizing, by id
	completed   []*checkpoint                       // plain ones, by id
	savepoints  []*checkpoint                       // completed ones, by id
	waste       []*checkpoint                       // failed and retired, by id
	history     history

	requests requests
	stats    Statistics
	ended    []events.CheckpointID // by the last Apply
}

// New returns the state before the first event. An event that names another job is a ForeignJob; an empty job takes all.
func New(job events.JobID) *State {
	return &State{
		job:         job,
		tasks:       map[events.TaskID]*task{},
		checkpoints: map[events.CheckpointID]*checkpoint{},
		history:     newHistory(),
		requests:    newRequests(),
		stats:       newStatistics(),
	}
}

// Assume tells a fresh state what is known from outside the log when the log's beginning is lost (the stream was deleted,
// or trimmed beyond the stored fold): the last epoch before the log's first entry, and the lowest free checkpoint id. Neither
// goes back, and epochs up to the one assumed are Fenced.
// Without it a first epoch above [MaxEpochRise] is Refused. It is part of the fold and saved with it.
func (s *State) Assume(epoch events.Epoch, next events.CheckpointID) {
	if s.since.IsZero() {
		s.epoch = max(s.epoch, epoch)
	}
	s.maxEpoch = max(s.maxEpoch, epoch)
	s.nextID = max(s.nextID, next)
}

// Clone returns a copy that shares nothing that changes: it can be read while the original goes on. It costs one copy of
// the slots of live checkpoints and of the tables: a few milliseconds for 10 000 tasks.
func (s *State) Clone() *State {
	c := *s
	c.tasks = make(map[events.TaskID]*task, len(s.tasks))
	rows := make([]task, 0, len(s.tasks)) // one allocation for all of them
	for id, t := range s.tasks {
		rows = append(rows, *t)
		c.tasks[id] = &rows[len(rows)-1]
	}
	c.checkpoints = maps.Clone(s.checkpoints)
	c.live = make([]*checkpoint, len(s.live))
	for i, live := range s.live {
		c.live[i] = live.clone()
		c.checkpoints[live.sum.ID] = c.live[i]
	}
	c.completed = slices.Clone(s.completed)
	c.savepoints = slices.Clone(s.savepoints)
	c.waste = slices.Clone(s.waste)
	c.history = s.history.clone()
	c.requests = s.requests.clone()
	c.stats = s.stats.clone()
	c.ended = slices.Clone(s.ended)
	return &c
}

// Job is the job that the log belongs to; empty if it takes all.
func (s *State) Job() events.JobID { return s.job }

// Position is that of the last event folded; [events.Start] if none was.
func (s *State) Position() events.Position { return s.position }

// Epoch is the epoch in force; 0 before the first coordinator.
func (s *State) Epoch() events.Epoch { return s.epoch }

// Instance is the coordinator in force; empty before the first.
func (s *State) Instance() events.InstanceID { return s.instance }

// Since is where the epoch in force began; zero before the first.
func (s *State) Since() events.Position { return s.since }

// MaxEpoch is the highest epoch that any event has named, acks included; a new coordinator must begin above it. An event
// that is not believed raises it to at most [MaxEpochRise] - 1 above the epoch in force, so that there is always a next one.
func (s *State) MaxEpoch() events.Epoch { return s.maxEpoch }

// NextID is one above the highest checkpoint id that any answer, task or coordinator event has named: the lowest id that
// a trigger may use. Events that anyone can write raise it by at most [MaxIDLead] at once.
func (s *State) NextID() events.CheckpointID { return s.nextID }

// Policy is the one in force; the zero policy before the first coordinator. The task list is a copy, as announced.
func (s *State) Policy() events.Policy {
	p := s.policy
	p.Tasks = slices.Clone(p.Tasks)
	return p
}

// Trimmed is the first position that the last deliberate trimming kept; zero if none was logged.
func (s *State) Trimmed() events.Position { return s.trimmed }

// Gap is the last gap that was logged, and how many were.
func (s *State) Gap() (last events.LogGapFound, count int64) { return s.gap, s.gaps }

// Ended lists the checkpoints that the last [State.Apply] ended, well or badly, in the order of their ids except that a
// completed one comes before those it subsumed. It is valid until the next Apply.
func (s *State) Ended() []events.CheckpointID { return s.ended }

// see notes that an id is in use. Events that are not believed can push the number only by a bounded step.
func (s *State) see(id events.CheckpointID, believed bool) {
	if id < s.nextID || id == maxCheckpoint || !believed && id-s.nextID > MaxIDLead {
		return
	}
	s.nextID = id + 1
}

// maxCheckpoint is never used, so that one above the highest id in use is always an id.
const maxCheckpoint = events.CheckpointID(1<<63 - 1)

// seeEpoch notes that an epoch was named by an event that is not believed.
func (s *State) seeEpoch(e events.Epoch) {
	if e > s.maxEpoch && e-s.epoch < MaxEpochRise {
		s.maxEpoch = e
	}
}

// clip shortens a text for a person to MaxText bytes without cutting a rune.
func clip(text string) string {
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end]
}
