package projection_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// feed folds events one position after the other.
type feed struct {
	t *testing.T
	*projection.State
	pos events.Position
}

func newFeed(t *testing.T, list ...events.Event) *feed {
	f := &feed{t: t, State: projection.New("orders")}
	for _, e := range list {
		f.want(e, projection.Applied)
	}
	return f
}

func (f *feed) put(e events.Event) projection.Outcome {
	f.pos = f.pos.Next()
	return f.Apply(f.pos, events.Envelope{ID: "e", At: int64(f.pos.Seq), Event: e})
}

func (f *feed) want(e events.Event, kind projection.OutcomeKind) {
	f.t.Helper()
	if o := f.put(e); o.Kind != kind {
		f.t.Fatalf("%s: %s (%s), want %s", e.Kind(), o.Kind, o.Why, kind)
	}
}

func (f *feed) check() {
	f.t.Helper()
	if err := f.Check(); err != nil {
		f.t.Fatal(err)
	}
}

func byCount(n int64) *events.CoordinatorStarted {
	return &events.CoordinatorStarted{
		Epoch: 1, Instance: "c1", Policy: events.Policy{Count: n, MaxConcurrent: 1, Retain: 1, QueueLimit: 100000},
	}
}

func TestTheHistoryForgetsTheOldestAndTheirIDsStayUsed(t *testing.T) {
	f := newFeed(t, byCount(1))
	for id := range events.CheckpointID(projection.MaxHistory + 10) {
		f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: id * 2, Type: events.TypeCheckpoint, Count: 1}, projection.Applied)
		f.want(&events.CheckpointFailed{Epoch: 1, Checkpoint: id * 2, Reason: events.FailedExpired}, projection.Applied)
		f.want(&events.StateDiscarded{Epoch: 1, Checkpoints: []events.CheckpointID{id * 2}}, projection.Applied)
	}
	if got := len(f.History()); got != projection.MaxHistory {
		t.Errorf("the history holds %d", got)
	}
	if _, ok := f.Checkpoint(0); ok {
		t.Error("checkpoint 0 is not forgotten")
	}
	ack := func(id events.CheckpointID) *events.TaskAcked {
		return &events.TaskAcked{Checkpoint: id, Task: "a", Epoch: 1}
	}
	f.want(ack(0), projection.Late)                // forgotten
	f.want(ack(1), projection.Late)                // never triggered, but nobody can tell any more
	f.want(ack(100), projection.Late)              // remembered
	f.want(ack(101), projection.UnknownCheckpoint) // remembered as never triggered
	f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: 0, Type: events.TypeCheckpoint, Count: 1}, projection.Refused)
	f.check()
}

func TestTheRequestWindowForgetsAnsweredRequestsOnly(t *testing.T) {
	f := newFeed(t, byCount(1))
	request := func(i int) *events.CheckpointRequested {
		return &events.CheckpointRequested{Request: events.RequestID(fmt.Sprintf("r%d", i)), Type: events.TypeCheckpoint}
	}
	for i := range projection.MaxRequests {
		f.want(request(i), projection.Applied)
	}
	f.want(request(projection.MaxRequests), projection.Refused) // nobody has an answer yet
	if got := len(f.Queue()); got != projection.MaxQueue {
		t.Errorf("%d are queued", got)
	}
	f.want(&events.RequestRefused{Epoch: 1, Request: "r16", Reason: events.RefusedShuttingDown}, projection.Applied)
	f.want(&events.AbortRequested{Request: "r16"}, projection.Applied) // another request under its id: owed a refusal
	f.want(&events.RequestRefused{Epoch: 1, Request: "r17", Reason: events.RefusedShuttingDown}, projection.Applied)
	f.want(request(projection.MaxRequests), projection.Applied)
	if _, ok := f.Request("r17"); ok {
		t.Error("r17 has its answer and is still remembered")
	}
	if _, ok := f.Request("r16"); !ok {
		t.Error("r16 is owed a refusal and is forgotten")
	}
	if _, ok := f.Request("r0"); !ok {
		t.Error("r0 waits and is forgotten")
	}
	f.want(request(0), projection.Duplicate)
	f.check()
}

func TestTooManyLiveCheckpointsAreRefusedAndNotDecidedOn(t *testing.T) {
	f := newFeed(t, byCount(1))
	for id := range events.CheckpointID(projection.MaxLive) {
		f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: id, Type: events.TypeSavepoint, Count: 1}, projection.Applied)
	}
	f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: 5000, Type: events.TypeSavepoint, Count: 1}, projection.Refused)
	f.want(&events.CheckpointRequested{Request: "r1", Type: events.TypeSavepoint}, projection.Applied)
	if list := projection.Decide(f.State, &projection.Timing{}, 0, projection.Gates{}); len(list) != 0 {
		t.Errorf("decided %v", list)
	}
	for id := range events.CheckpointID(projection.MaxSavepoints) {
		f.want(&events.TaskAcked{Checkpoint: id, Task: "a", Epoch: 1}, projection.Completing)
		f.want(&events.CheckpointCompleted{Epoch: 1, Checkpoint: id}, projection.Applied)
	}
	f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: 6000, Type: events.TypeSavepoint, Count: 1}, projection.Refused)
	refusals := 0
	for _, d := range projection.Decide(f.State, &projection.Timing{}, 0, projection.Gates{}) {
		if r, ok := d.(projection.Refuse); ok && r.Reason == events.RefusedQueueFull {
			refusals++
		}
	}
	if refusals != 1 {
		t.Errorf("%d refusals for a savepoint too many", refusals)
	}
	f.check()
}

func TestOneDiscardNamesABoundedNumber(t *testing.T) {
	f := newFeed(t, byCount(1))
	for id := range events.CheckpointID(100) {
		f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: id, Type: events.TypeCheckpoint, Count: 1}, projection.Applied)
	}
	next := byCount(1)
	next.Epoch = 2
	f.want(next, projection.Applied)
	list := projection.Decide(f.State, &projection.Timing{}, 0, projection.Gates{})
	if len(list) != 1 || len(list[0].(projection.Discard).IDs) != projection.MaxDiscard {
		t.Errorf("decided %v", list)
	}
}

func TestLongTextsAreCutAtARune(t *testing.T) {
	long := strings.Repeat("é", projection.MaxText)
	f := newFeed(t, byCount(1), &events.CheckpointRequested{Request: "r1", Type: events.TypeCheckpoint, Cause: "x" + long})
	r, _ := f.Request("r1")
	if len(r.Cause) > projection.MaxText || !strings.HasSuffix(r.Cause, "é") {
		t.Errorf("kept %d bytes: %q", len(r.Cause), r.Cause[len(r.Cause)-3:])
	}
	f.want(&events.CheckpointRequested{Request: "r2", Type: events.TypeCheckpoint, JoiningEvent: long}, projection.Refused)
	if _, ok := f.Request("r2"); ok {
		t.Error("a request with too long a joining event was taken")
	}
}

func TestManyMissingTasksAreCountedAndTheFirstNamed(t *testing.T) {
	policy := events.Policy{MaxConcurrent: 1, Retain: 1, QueueLimit: 1}
	trigger := &events.CheckpointTriggered{Epoch: 1, Type: events.TypeCheckpoint}
	for i := range 300 {
		id := events.TaskID(fmt.Sprintf("t%03d", i))
		policy.Tasks = append(policy.Tasks, id)
		trigger.Tasks = append(trigger.Tasks, events.TaskAttempt{Task: id, Attempt: 1})
	}
	f := newFeed(t, &events.CoordinatorStarted{Epoch: 1, Instance: "c1", Policy: policy})
	for _, id := range policy.Tasks {
		f.want(&events.TaskRegistered{Task: id, Instance: events.InstanceID(id)}, projection.Applied)
		f.want(&events.TaskRestored{Task: id, Attempt: 1, Checkpoint: events.NoCheckpoint}, projection.Applied)
	}
	f.want(trigger, projection.Applied)
	f.want(&events.TaskAcked{Task: "t007", Attempt: 1, Epoch: 1}, projection.Applied)
	live := f.Live()[0]
	if got := live.StillMissing(); len(got) != 299 || slices.Contains(got, "t007") {
		t.Errorf("%d are missing", len(got))
	}
	if got := live.Requires(); len(got) != 300 {
		t.Errorf("%d are required", len(got))
	}
	f.want(&events.CheckpointFailed{Epoch: 1, Reason: events.FailedExpired}, projection.Applied)
	past := f.History()[0]
	if len(past.Missing) != projection.MaxMissing || past.MissingCount != 299 || past.Missing[7] != "t008" {
		t.Errorf("the history names %d of %d: %s", len(past.Missing), past.MissingCount, past.Missing[7])
	}
}

func TestAnAckForTheHighestOfAllIDsLeavesRoomForANextOne(t *testing.T) {
	f := newFeed(t, byCount(1))
	f.Assume(0, math.MaxInt64-2)
	f.want(&events.TaskAcked{Checkpoint: math.MaxInt64 - 2, Task: "a", Epoch: 1}, projection.UnknownCheckpoint)
	f.want(&events.TaskAcked{Checkpoint: math.MaxInt64, Task: "a", Epoch: 1}, projection.UnknownCheckpoint)
	if f.NextID() != math.MaxInt64-1 {
		t.Errorf("the next id is %d", f.NextID())
	}
	f.want(&events.CheckpointRequested{Request: "r1", Type: events.TypeCheckpoint}, projection.Applied)
	trigger := projection.Decide(f.State, &projection.Timing{}, 0, projection.Gates{})[0].(projection.Trigger)
	f.want(effect(f.State, trigger), projection.Applied)
	f.want(&events.CheckpointRequested{Request: "r2", Type: events.TypeSavepoint}, projection.Applied)
	if list := projection.Decide(f.State, &projection.Timing{}, 0, projection.Gates{}); len(list) != 0 {
		t.Errorf("no id is left, and yet %v", list)
	}
}

func TestWhatIsKnownFromOutsideTheLogCanBeAssumed(t *testing.T) {
	f := newFeed(t)
	late := byCount(1)
	late.Epoch = 5001
	f.want(late, projection.Refused)
	f.Assume(5000, 42)
	f.want(late, projection.Applied)
	if f.NextID() != 42 || f.Epoch() != 5001 || f.MaxEpoch() != 5001 || f.Since() != f.Position() {
		t.Errorf("next %s, epoch %s, highest %s, since %s", f.NextID(), f.Epoch(), f.MaxEpoch(), f.Since())
	}
	f.Assume(9000, 7) // too late for the epoch in force, and ids never go back
	if f.NextID() != 42 || f.Epoch() != 5001 {
		t.Errorf("next %s, epoch %s", f.NextID(), f.Epoch())
	}
	f.check()
}

func TestASkippedEntryMovesThePositionAndIsCounted(t *testing.T) {
	f := newFeed(t, byCount(1))
	p := f.Position().Next()
	if !f.Skip(p) || f.Skip(p) || f.Position() != p {
		t.Errorf("position %s after skipping %s", f.Position(), p)
	}
	if got := f.Statistics().Quarantined; got != 1 {
		t.Errorf("%d quarantined", got)
	}
}

func TestOnlyTheLastInstancesOfATaskAreRemembered(t *testing.T) {
	f := newFeed(t, byCount(1))
	before := f.TasksVersion()
	for i := range projection.MaxInstances + 1 {
		f.want(&events.TaskRegistered{Task: "a", Instance: events.InstanceID(fmt.Sprintf("a%d", i))}, projection.Applied)
	}
	if got := f.TasksVersion() - before; got != projection.MaxInstances+1 {
		t.Errorf("the version rose by %d", got)
	}
	f.want(&events.TaskRegistered{Task: "a", Instance: "a1"}, projection.Duplicate)
	f.want(&events.TaskRegistered{Task: "a", Instance: "a0"}, projection.Applied)
}

func TestStatisticsCountWhatTheFoldSaw(t *testing.T) {
	f := newFeed(t, byCount(2),
		&events.CheckpointTriggered{Epoch: 1, Type: events.TypeCheckpoint, Count: 2},
		&events.TaskAcked{Task: "a", Epoch: 1})
	f.want(&events.TaskAcked{Task: "a", Epoch: 1}, projection.Duplicate)
	f.want(&events.TaskAcked{Task: "b", Epoch: 9}, projection.StaleEpoch)
	f.want(&events.TaskDeclined{Task: "b", Epoch: 1, Reason: events.DeclinedClosing}, projection.Applied)
	f.want(&events.CheckpointFailed{Epoch: 1, Reason: events.FailedDeclined}, projection.Applied)
	f.want(&events.CheckpointFailed{Epoch: 1, Reason: events.FailedDeclined}, projection.Duplicate)
	f.want(&events.CheckpointFailed{Epoch: 1, Reason: events.FailedExpired}, projection.Late)
	f.want(&events.AbortRequested{Request: "r1", UpTo: 9}, projection.Applied)
	f.want(&events.RequestRefused{Epoch: 1, Request: "r1", Reason: events.RefusedNothingToAbort}, projection.Applied)
	f.put(nil)
	got := f.Statistics()
	want := projection.Statistics{
		Triggered: 1, Acked: 1, Declined: 1, Requests: 1, Epochs: 1,
		Failed:   map[events.FailureReason]int64{events.FailedDeclined: 1},
		Refusals: map[events.RefusalReason]int64{events.RefusedNothingToAbort: 1},
	}
	want.Answers[projection.Applied], want.Answers[projection.Duplicate], want.Answers[projection.StaleEpoch] = 2, 1, 1
	want.Others[projection.Applied], want.Others[projection.Late], want.Others[projection.Refused] = 5, 1, 1
	want.Others[projection.Duplicate] = 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReferencesAreWhatMustStay(t *testing.T) {
	ack := func(id events.CheckpointID, chunk string) *events.TaskAcked {
		return &events.TaskAcked{Checkpoint: id, Task: "a", Epoch: 1, Attempt: 1, Handle: events.StateHandle{
			Chunks: []events.ChunkRef{{Name: "x", Digest: digest(chunk), Bytes: 1}},
		}}
	}
	trigger := func(id events.CheckpointID) *events.CheckpointTriggered {
		return &events.CheckpointTriggered{Epoch: 1, Checkpoint: id, Type: events.TypeCheckpoint, Count: 1}
	}
	f := newFeed(t, byCount(1), &events.TaskRegistered{Task: "a", Instance: "a1"},
		&events.TaskRestored{Task: "a", Attempt: 1, Checkpoint: events.NoCheckpoint}, trigger(0))
	f.want(ack(0, "end"), projection.Completing)
	f.want(&events.CheckpointCompleted{Epoch: 1, Checkpoint: 0}, projection.Applied)
	f.want(trigger(1), projection.Applied)
	f.want(ack(1, "next"), projection.Completing)
	if !f.Referenced(digest("end")) || !f.Referenced(digest("next")) || f.Referenced(digest("other")) {
		t.Error("completed and live handles are references, others are not")
	}
	if got := f.References(0); got.Has(digest("end")) || !got.Has(digest("next")) {
		t.Errorf("without 0: %v", got)
	}
	f.want(&events.CheckpointCompleted{Epoch: 1, Checkpoint: 1}, projection.Applied)
	f.want(&events.CheckpointsRetired{Epoch: 1, Checkpoints: []events.CheckpointID{0}}, projection.Applied)
	if got := f.Garbage(0); len(got) != 1 || f.Referenced(digest("end")) {
		t.Errorf("garbage of the retired one: %v", got)
	}
	if len(f.Garbage(1)) != 0 || len(f.Garbage()) != 0 {
		t.Error("only named waste has garbage")
	}
}

func TestAFailedPeriodicTriggerIsDueAgainAfterOneInterval(t *testing.T) {
	start := byCount(1)
	start.Policy.Interval = 10
	f := newFeed(t)
	timing := &projection.Timing{First: 3 * time.Millisecond}
	o := f.put(start)
	timing.Observe(0, f.State, events.Envelope{Event: start}, o)
	at := func(now time.Duration) bool {
		return len(projection.Decide(f.State, timing, now, projection.Gates{})) > 0
	}
	if at(3*time.Millisecond-1) || !at(3*time.Millisecond) {
		t.Error("the first is not due after First")
	}
	copied := timing.Clone()
	timing.PeriodicFailed(4*time.Millisecond, f.State)
	if at(13*time.Millisecond-1) || !at(13*time.Millisecond) {
		t.Error("the next is not due in the rhythm")
	}
	timing = copied
	if !at(4 * time.Millisecond) {
		t.Error("the clone saw the failure")
	}
}

func TestARequestWithoutAnEndNeverMakesTimeOverflow(t *testing.T) {
	start := byCount(1)
	start.Policy.Interval, start.Policy.MinPause, start.Policy.Timeout = math.MaxInt64, math.MaxInt64, math.MaxInt64
	f := newFeed(t)
	timing := &projection.Timing{}
	observe := func(now time.Duration, e events.Event) {
		o := f.put(e)
		timing.Observe(now, f.State, events.Envelope{Event: e}, o)
	}
	observe(0, start)
	now := 100 * 365 * 24 * time.Hour
	observe(now, &events.CheckpointTriggered{Epoch: 1, Type: events.TypeCheckpoint, Count: 1, Timeout: math.MaxInt64})
	if list := projection.Decide(f.State, timing, now, projection.Gates{}); len(list) != 0 {
		t.Errorf("decided %v", list)
	}
	if due, ok := projection.NextDue(f.State, timing, now); !ok || due <= now {
		t.Errorf("due at %s, %v", due, ok)
	}
}

func TestEveryWordIsNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range projection.OutcomeKinds() {
		if s := k.String(); s == "invalid" || seen[s] {
			t.Errorf("outcome %d is %q", k, s)
		}
		seen[k.String()] = true
	}
	for _, s := range []fmt.Stringer{
		projection.OutcomeKind(99), projection.Phase(99), projection.TaskPhase(99), projection.RequestStatus(99),
	} {
		if got := s.String(); got != "invalid" && got != "unknown" {
			t.Errorf("an impossible value is %q", got)
		}
	}
}
