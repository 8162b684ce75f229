package projection

import (
	"slices"

	"github.com/tidemark-stream/tidemark/events"
)

// RequestStatus tells what became of a request.
type RequestStatus uint8

// The states of a request. Those from RequestRefused on are its answer and do not change.
const (
	RequestQueued    RequestStatus = iota + 1 // waits for its trigger
	RequestRefusing                           // the refusal is due: Reason is set and the coordinator has not logged it
	RequestAborting                           // an abort whose checkpoints wait for their verdicts
	RequestExamining                          // a withdrawal that waits for the coordinator's look at the store
	RequestRefused                            // answered no
	RequestTriggered                          // answered by Checkpoint
	RequestAborted                            // an abort whose checkpoints have all ended
	RequestWithdrawn                          // a withdrawal that was granted
)

func (r RequestStatus) String() string {
	switch r {
	case RequestQueued:
		return "queued"
	case RequestRefusing:
		return "refusing"
	case RequestAborting:
		return "aborting"
	case RequestExamining:
		return "examining"
	case RequestRefused:
		return "refused"
	case RequestTriggered:
		return "triggered"
	case RequestAborted:
		return "aborted"
	case RequestWithdrawn:
		return "withdrawn"
	}
	return "unknown"
}

// Answered reports whether the request has its answer.
func (r RequestStatus) Answered() bool { return r >= RequestRefused }

// Request is a wish that somebody put into the log, and its answer.
type Request struct {
	ID     events.RequestID
	Status RequestStatus
	// Abort tells a request to abort from one to trigger, and Withdraw one to withdraw a completed checkpoint.
	Abort, Withdraw bool
	// Type and JoiningEvent are those of a request to trigger.
	Type         events.CheckpointType
	JoiningEvent string
	// UpTo is the highest id that a request to abort means, or the one that a request to withdraw means; NoCheckpoint otherwise.
	UpTo events.CheckpointID
	// Forced and ToNothing are those of a request to withdraw.
	Forced, ToNothing bool
	Cause, By         string
	// Position and At are where and when (its own timestamp) it was asked.
	Position events.Position
	At       int64
	// Checkpoint is the answer of a triggered one, and the highest id that an abort is to end; NoCheckpoint otherwise.
	Checkpoint events.CheckpointID
	// Reason and Remedy are those of a refusal.
	Reason events.RefusalReason
	Remedy string

	conflict bool // another request used this id, and its refusal is due
	open     int  // marked checkpoints of an abort that are still live
}

// requests is the window of the last MaxRequests requests.
type requests struct {
	order []*Request // by position
	byID  map[events.RequestID]*Request
	queue []*Request // queued ones, by position
	owed  []*Request // refusing ones and those with a conflict, by position
	exam  []*Request // examining ones, by position
}

func newRequests() requests { return requests{byID: map[events.RequestID]*Request{}} }

func (q *requests) clone() requests {
	c := newRequests()
	for _, r := range q.order {
		d := *r
		c.restore(&d)
	}
	return c
}

// restore takes up a request whose status is known.
func (q *requests) restore(r *Request) {
	q.order = append(q.order, r)
	q.byID[r.ID] = r
	if r.Status == RequestQueued {
		q.queue = append(q.queue, r)
	}
	if r.Status == RequestRefusing || r.conflict {
		q.owed = append(q.owed, r)
	}
	if r.Status == RequestExamining {
		q.exam = append(q.exam, r)
	}
}

// add makes room by forgetting the oldest answered request; false if none has its answer.
func (q *requests) add(r *Request) bool {
	if len(q.order) >= MaxRequests {
		i := slices.IndexFunc(q.order, func(r *Request) bool { return r.Status.Answered() && !r.conflict })
		if i < 0 {
			return false
		}
		delete(q.byID, q.order[i].ID)
		q.order = slices.Delete(q.order, i, i+1)
	}
	q.restore(r)
	return true
}

// set moves a request to another status and keeps the lists.
func (q *requests) set(r *Request, status RequestStatus) {
	r.Status = status
	if i := slices.Index(q.queue, r); i >= 0 && status != RequestQueued {
		q.queue = slices.Delete(q.queue, i, i+1)
	}
	if i := slices.Index(q.exam, r); i >= 0 && status != RequestExamining {
		q.exam = slices.Delete(q.exam, i, i+1)
	}
	q.settleOwed(r)
}

func (q *requests) settleOwed(r *Request) {
	i, found := slices.BinarySearchFunc(q.owed, r.Position, func(r *Request, p events.Position) int {
		return r.Position.Compare(p)
	})
	switch owed := r.Status == RequestRefusing || r.conflict; {
	case owed && !found:
		q.owed = slices.Insert(q.owed, i, r)
	case !owed && found:
		q.owed = slices.Delete(q.owed, i, i+1)
	}
}

// answeredOtherwise reports whether another checkpoint is the answer to the request.
func (q *requests) answeredOtherwise(id events.RequestID, by events.CheckpointID) bool {
	r := q.byID[id]
	return r != nil && (r.Abort || r.Withdraw || r.Status == RequestTriggered && r.Checkpoint != by)
}

// triggered answers a request. One that the window has forgotten, or that never was logged, is taken up as answered.
func (q *requests) triggered(id events.RequestID, by events.CheckpointID, at stamp, typ events.CheckpointType) {
	if id == "" {
		return
	}
	r := q.byID[id]
	if r == nil {
		q.add(&Request{
			ID: id, Status: RequestTriggered, Type: typ, UpTo: events.NoCheckpoint, Checkpoint: by, Position: at.pos, At: at.at,
		})
		return
	}
	if !r.Status.Answered() {
		r.Checkpoint, r.Reason, r.Remedy = by, "", ""
		q.set(r, RequestTriggered)
	}
}

// ended notes that a checkpoint that an abort had marked has its verdict.
func (q *requests) ended(c *Checkpoint) {
	r := q.byID[c.Abort.Request]
	if r == nil || !r.Abort || r.Status != RequestAborting {
		return
	}
	if r.open--; r.open <= 0 {
		q.set(r, RequestAborted)
	}
}

// withdrawn answers the requests to withdraw a checkpoint that is a restore point no more: yes to the one that the coordinator
// named, no to the others.
func (q *requests) withdrawn(id events.RequestID, gone events.CheckpointID) {
	for _, r := range slices.Clone(q.exam) {
		switch {
		case r.UpTo != gone:
		case r.ID == id:
			r.Checkpoint = gone
			q.set(r, RequestWithdrawn)
		default:
			q.deny(r, events.RefusedNotKept)
		}
	}
}

// deny makes the refusal of a request due.
func (q *requests) deny(r *Request, why events.RefusalReason) {
	r.Reason = why
	q.set(r, RequestRefusing)
}

func (s *State) checkpointRequested(at stamp, e *events.CheckpointRequested) Outcome {
	if len(e.JoiningEvent) > MaxText {
		return plain(Refused, "the joining event is longer than 1024 bytes")
	}
	if r := s.requests.byID[e.Request]; r != nil {
		return s.repeated(r, !r.Abort && !r.Withdraw && r.Type == e.Type && r.JoiningEvent == e.JoiningEvent)
	}
	r := &Request{
		ID: e.Request, Status: RequestQueued, Type: e.Type, JoiningEvent: e.JoiningEvent, UpTo: events.NoCheckpoint,
		Cause: clip(e.Cause), By: clip(e.By), Position: at.pos, At: at.at, Checkpoint: events.NoCheckpoint,
	}
	if !s.requests.add(r) {
		return plain(Refused, "4096 requests wait for an answer")
	}
	s.stats.Requests++
	s.trimQueue()
	return plain(Applied, "")
}

// repeated tells a request that was sent twice from another one under the same id. The latter is owed a refusal.
func (s *State) repeated(r *Request, same bool) Outcome {
	o := plain(Duplicate, "")
	o.Checkpoint = r.Checkpoint
	if same {
		return o
	}
	o.Why = "another request used this id"
	if !r.conflict {
		o.Kind = Applied
		r.conflict = true
		s.requests.settleOwed(r)
	}
	return o
}

// trimQueue turns the lowest requests beyond the queue's bound into refusals: checkpoints before savepoints, young before old.
func (s *State) trimQueue() {
	limit := MaxQueue
	if q := s.policy.QueueLimit; q >= 1 && q < MaxQueue {
		limit = int(q)
	}
	q := &s.requests
	for len(q.queue) > limit {
		lowest := len(q.queue) - 1
		for i := lowest; i >= 0; i-- {
			if q.queue[i].Type != events.TypeSavepoint {
				lowest = i
				break
			}
		}
		r := q.queue[lowest]
		q.deny(r, events.RefusedQueueFull)
	}
}

// abortRequested marks every pending checkpoint that the request means; from here on they can only fail.
func (s *State) abortRequested(at stamp, e *events.AbortRequested) Outcome {
	if r := s.requests.byID[e.Request]; r != nil {
		return s.repeated(r, r.Abort && r.UpTo == e.UpTo)
	}
	r := &Request{
		ID: e.Request, Status: RequestAborting, Abort: true, UpTo: e.UpTo, Cause: clip(e.Cause), By: clip(e.By),
		Position: at.pos, At: at.at, Checkpoint: events.NoCheckpoint,
	}
	if !s.requests.add(r) {
		return plain(Refused, "4096 requests wait for an answer")
	}
	s.stats.Requests++
	for _, c := range s.live {
		if c.sum.ID > e.UpTo || c.sum.Phase != PhasePending {
			continue
		}
		r.Checkpoint = c.sum.ID
		if c.sum.Abort.Request == "" {
			c.sum.Abort = Abort{Request: r.ID, Cause: r.Cause, By: r.By, Position: at.pos}
			r.open++
		}
	}
	switch {
	case r.Checkpoint.IsZero():
		s.requests.deny(r, events.RefusedNothingToAbort)
	case r.open == 0: // an earlier request has asked for all of them
		s.requests.set(r, RequestAborted)
	}
	o := plain(Applied, "")
	o.Checkpoint = r.Checkpoint
	return o
}

func (s *State) requestRefused(e *events.RequestRefused) Outcome {
	r := s.requests.byID[e.Request]
	switch {
	case r == nil:
		return plain(Late, "no such request waits")
	case e.Reason == events.RefusedDuplicate:
		if !r.conflict {
			return plain(Duplicate, "")
		}
		r.conflict = false
		s.requests.settleOwed(r)
	case r.Status == RequestRefused:
		return plain(Duplicate, "")
	case r.Status != RequestQueued && r.Status != RequestRefusing && r.Status != RequestExamining:
		return plain(Late, "the request has been answered")
	default:
		r.Reason, r.Remedy = e.Reason, clip(e.Remedy)
		s.requests.set(r, RequestRefused)
	}
	s.stats.Refusals[e.Reason]++
	return plain(Applied, "")
}

// Request is what is known of a request within the window of the last [MaxRequests].
func (s *State) Request(id events.RequestID) (Request, bool) {
	if r := s.requests.byID[id]; r != nil {
		return *r, true
	}
	return Request{}, false
}

// Queue lists the requests that wait for a trigger, in the order in which they will be served: savepoints first, then
// the older ones.
func (s *State) Queue() []Request {
	list := make([]Request, 0, len(s.requests.queue))
	for _, r := range s.requests.queue {
		list = append(list, *r)
	}
	slices.SortStableFunc(list, func(a, b Request) int { return rank(a.Type) - rank(b.Type) })
	return list
}

func rank(t events.CheckpointType) int {
	if t == events.TypeSavepoint {
		return 0
	}
	return 1
}
