package projection

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// Phase tells where a checkpoint stands; see the drawing at the head of the package.
type Phase uint8

// The phases of a checkpoint. The last three have no way back.
const (
	PhasePending    Phase = iota + 1 // waits for acks
	PhaseFinalizing                  // all acks are in; the verdict is not
	PhaseCompleted                   // kept
	PhaseFailed                      // ended badly
	PhaseRetired                     // completed once, no longer kept
)

func (p Phase) String() string {
	switch p {
	case PhasePending:
		return "pending"
	case PhaseFinalizing:
		return "finalizing"
	case PhaseCompleted:
		return "completed"
	case PhaseFailed:
		return "failed"
	case PhaseRetired:
		return "retired"
	}
	return "unknown"
}

// Terminal reports whether the verdict is in.
func (p Phase) Terminal() bool { return p >= PhaseCompleted }

// Decline is a task's no. The zero value means that there was none.
type Decline struct {
	Task     events.TaskID
	Attempt  events.Attempt
	Reason   events.DeclineReason
	Text     string
	Position events.Position
}

// Abort is the request that asked for the end of a pending checkpoint. The zero value means that there was none.
type Abort struct {
	Request  events.RequestID
	Cause    string
	By       string
	Position events.Position
}

// Checkpoint is a view of one checkpoint. Its fields are copies; its methods read the state and are to be called before
// the next Apply (or on a view from a [State.Clone]).
type Checkpoint struct {
	ID      events.CheckpointID
	Type    events.CheckpointType
	Phase   Phase
	Epoch   events.Epoch
	Request events.RequestID // empty for a periodic one
	Cause   string
	// Timeout is the time that it may be pending; 0 means for ever.
	Timeout time.Duration
	// JoiningEvent, if not empty, must be named by an ack that is to count.
	JoiningEvent string
	// Triggered is the position of its trigger, TriggeredAt the trigger's own timestamp (ms since 1970).
	Triggered   events.Position
	TriggeredAt int64
	// Required is how many acks it needs and Acked how many it has, each task once. Tasks that had finished before the
	// trigger are in neither.
	Required, Acked int
	// Decline is the first decline and Abort the first request to abort. With either it is doomed: it stays pending,
	// whatever acks come, until the coordinator's verdict.
	Decline Decline
	Abort   Abort
	// Ended is the position of the event that ended it, EndedAt that event's timestamp; zero while it is live.
	Ended   events.Position
	EndedAt int64
	// Withdrawn says that it completed and could not be restored later: Text says why. It is retired.
	Withdrawn bool
	// Reason and Text say why it failed. Missing names up to MaxMissing required tasks that had not acked by its end,
	// sorted; MissingCount is how many there were.
	Reason       events.FailureReason
	Text         string
	Missing      []events.TaskID
	MissingCount int
	// Forced, Bytes and RecordKey are those of the completing event.
	Forced    bool
	Bytes     int64
	RecordKey string

	held *checkpoint
}

// Ack is one task's contribution to a checkpoint.
type Ack struct {
	Task     events.TaskID
	Attempt  events.Attempt
	Handle   events.StateHandle
	Measures events.Measures
	// JoiningEvent is the one that the ack named.
	JoiningEvent string
	// Position and At are where and when (its own timestamp) the ack stands in the log.
	Position events.Position
	At       int64
	// Carried says that the task has finished: this is its last handle, from an earlier checkpoint.
	Carried bool
}

// Doomed reports whether it is declined or to be aborted and thus can only fail.
func (c *Checkpoint) Doomed() bool { return c.Decline.Task != "" || c.Abort.Request != "" }

// StillMissing lists the required tasks that have not acked yet, sorted. For a checkpoint by count it is empty.
func (c *Checkpoint) StillMissing() []events.TaskID {
	if c.held == nil {
		return slices.Clone(c.Missing)
	}
	return c.held.missing(len(c.held.required))
}

// Requires lists the attempts whose acks it needs, sorted by task. Empty for a checkpoint by count. Do not change it.
func (c *Checkpoint) Requires() []events.TaskAttempt {
	if c.held == nil {
		return nil
	}
	return c.held.required
}

// Acks gives what each task has put in, sorted by task, carried handles of finished tasks among them. After the state was
// discarded there are none.
func (c *Checkpoint) Acks() iter.Seq[Ack] {
	return func(yield func(Ack) bool) {
		if c.held == nil {
			return
		}
		for _, s := range c.held.contributions() {
			if !yield(s.view()) {
				return
			}
		}
	}
}

// checkpoint is a row of the table. Once it has ended it is never changed again (a retired one is a new row), so that
// clones may share it.
type checkpoint struct {
	sum      Checkpoint
	required []events.TaskAttempt // sorted by task; of the trigger event, not to be changed
	slots    []slot               // beside required; by arrival for a checkpoint by count
	byName   map[events.TaskID]int32
	carried  []slot // finished tasks, sorted by task
}

// slot is the place for one task's ack.
type slot struct {
	ack      *events.TaskAcked
	at       stamp
	declined bool
	carried  bool // filled by task_finished with an earlier ack
}

func (s *slot) view() Ack {
	return Ack{
		Task: s.ack.Task, Attempt: s.ack.Attempt, Handle: s.ack.Handle, Measures: s.ack.Measures,
		JoiningEvent: s.ack.JoiningEvent, Position: s.at.pos, At: s.at.at, Carried: s.carried,
	}
}

func (c *checkpoint) byCount() bool { return c.required == nil }

func (c *checkpoint) view() Checkpoint {
	v := c.sum
	v.held = c
	return v
}

func (c *checkpoint) clone() *checkpoint {
	d := *c
	d.slots = slices.Clone(c.slots)
	d.byName = maps.Clone(c.byName)
	return &d
}

// find gives the slot of a task, or -1. The place in the expected set is tried first: unless tasks have finished it is
// the slot, which makes this one map look-up instead of a search through 10 000 names.
func (c *checkpoint) find(id events.TaskID, index map[events.TaskID]int32) int {
	if c.byCount() {
		if i, ok := c.byName[id]; ok {
			return int(i)
		}
		return -1
	}
	if i, ok := index[id]; ok && int(i) < len(c.required) && c.required[i].Task == id {
		return int(i)
	}
	i, ok := slices.BinarySearchFunc(c.required, id, func(t events.TaskAttempt, id events.TaskID) int {
		return strings.Compare(string(t.Task), string(id))
	})
	if !ok {
		return -1
	}
	return i
}

// missing lists up to limit required tasks without an ack.
func (c *checkpoint) missing(limit int) []events.TaskID {
	var list []events.TaskID
	for i := range c.required {
		if c.slots[i].ack == nil && len(list) < limit {
			list = append(list, c.required[i].Task)
		}
	}
	return list
}

// fill puts an ack into a slot and reports whether it was the last that was needed.
func (c *checkpoint) fill(i int, s slot) (last bool) {
	c.slots[i] = s
	c.sum.Acked++
	if c.sum.Phase != PhasePending || c.sum.Doomed() || c.sum.Acked < c.sum.Required {
		return false
	}
	c.sum.Phase = PhaseFinalizing
	return true
}

// add opens a slot in a checkpoint by count.
func (c *checkpoint) add(id events.TaskID) int {
	c.byName[id] = int32(len(c.slots)) // at most Required slots, each after an ack in memory
	c.slots = append(c.slots, slot{})
	return len(c.slots) - 1
}

// settle counts a task that has finished as acked, if the checkpoint still waits for it.
func (c *checkpoint) settle(t *task, at stamp) {
	if c.sum.Phase != PhasePending {
		return
	}
	i := c.find(t.sum.ID, nil)
	switch {
	case i < 0 && c.byCount():
		i = c.add(t.sum.ID)
	case i < 0 || c.slots[i].ack != nil || !c.byCount() && c.required[i].Attempt != t.sum.Attempt:
		return
	}
	s := t.end
	s.at, s.declined = at, c.slots[i].declined
	c.fill(i, s)
}

// needs reports whether the checkpoint requires or carries the current attempt of the task.
func (c *checkpoint) needs(t *task, index map[events.TaskID]int32) bool {
	if i := c.find(t.sum.ID, index); i >= 0 {
		return c.byCount() && c.slots[i].carried || !c.byCount() && c.required[i].Attempt == t.sum.Attempt
	}
	_, carried := slices.BinarySearchFunc(c.carried, t.sum.ID, func(s slot, id events.TaskID) int {
		return strings.Compare(string(s.ack.Task), string(id))
	})
	return carried
}

// waitsFor reports whether the checkpoint requires the current attempt of the task and has no ack of it.
func (c *checkpoint) waitsFor(t *task, index map[events.TaskID]int32) bool {
	i := c.find(t.sum.ID, index)
	return i >= 0 && !c.byCount() && c.required[i].Attempt == t.sum.Attempt && c.slots[i].ack == nil
}

// contributions lists the filled slots and the carried ones, sorted by task.
func (c *checkpoint) contributions() []*slot {
	list := make([]*slot, 0, len(c.slots)+len(c.carried))
	for i := range c.slots {
		if c.slots[i].ack != nil {
			list = append(list, &c.slots[i])
		}
	}
	for i := range c.carried {
		list = append(list, &c.carried[i])
	}
	if c.byCount() || len(c.carried) > 0 {
		slices.SortFunc(list, func(a, b *slot) int { return strings.Compare(string(a.ack.Task), string(b.ack.Task)) })
	}
	return list
}

// insert puts c into a list sorted by id.
func insert(list []*checkpoint, c *checkpoint) []*checkpoint {
	i, _ := slices.BinarySearchFunc(list, c, compareIDs)
	return slices.Insert(list, i, c)
}

// remove takes the checkpoint with c's id out of a list sorted by id.
func remove(list []*checkpoint, c *checkpoint) []*checkpoint {
	if i, ok := slices.BinarySearchFunc(list, c, compareIDs); ok {
		return slices.Delete(list, i, i+1)
	}
	return list
}

func compareIDs(a, b *checkpoint) int { return cmp.Compare(a.sum.ID, b.sum.ID) }
