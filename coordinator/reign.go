package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// reign is what the loop has while it leads: the token, and what it knows of the world beside the log. It belongs to the
// loop; effects get copies.
type reign struct {
	term   eventlog.Term
	over   chan struct{}   // closed when the reign ends: the lease keeper campaigns again
	ctx    context.Context //nolint:containedctx // ends with the reign and cancels its effects
	cancel context.CancelCauseFunc
	store  store.Store
	chunks store.Chunks // nil when the store has none

	began     time.Duration
	started   bool                // our coordinator_started has been folded: we may act
	verified  bool                // the store's highest id is known
	doubtful  bool                // it could not be read: requests are refused until it can
	nextID    events.CheckpointID // above every id of the store
	reserving events.CheckpointID // the id of the trigger under way

	cleanups []cleanup                    // wait until the ids in use are known
	tries    map[events.CheckpointID]int  // how often each finalization was tried
	forced   map[events.CheckpointID]bool // to be completed by hand
	unlanded map[events.CheckpointID]bool // completed ones whose record does not say so yet
	latest   events.CheckpointID          // newest completed one whose record says so

	examined map[taskRun]bool // attempts whose doubt of a restore point has been looked into

	assigned   map[events.TaskID]eventlog.Assignment // as written in this reign
	swept      bool                                  // assignments of tasks that the fold does not know are gone
	stale      bool                                  // the control state may have changed since it was written
	tasksStale bool                                  // so may assignments
	withheld   bool                                  // an assignment waits until its restore point has landed
	finished   bool                                  // every expected task has finished; as of the last look at the tasks
	announced  eventlog.Control                      // as last written
	told       time.Duration                         // when that was begun; 0 means never

	missing map[taskRun]time.Duration // attempts without a sign of life, since when
	lost    []events.TaskAttempt      // attempts without a sign of life for too long
	looked  time.Duration             // when presence was last asked for

	savedClock time.Duration
	unsaved    int  // events folded since the fold was saved
	saveNow    bool // what is known is known to the saved fold alone
}

// errReignOver is the cause with which a reign's context ends.
var errReignOver = errors.New("the reign is over")

func (l *loop) newReign(ctx context.Context, w *won) *reign {
	term, now := w.term, l.clock()
	r := &reign{
		term: term, over: w.over, began: now, store: l.cfg.Store, latest: events.NoCheckpoint, looked: now, savedClock: now,
		tries: make(map[events.CheckpointID]int), forced: make(map[events.CheckpointID]bool),
		unlanded: make(map[events.CheckpointID]bool), assigned: make(map[events.TaskID]eventlog.Assignment),
		missing: make(map[taskRun]time.Duration), examined: make(map[taskRun]bool), stale: true, tasksStale: true,
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if js, ok := l.cfg.Store.(store.JobStore); ok {
		fenced := js.Fenced(store.Fence{Epoch: term.Epoch(), Instance: term.Instance()})
		r.store, r.chunks = fenced, fenced
	}
	return r
}

// takeTerm begins or ends a reign, as the lease keeper says.
func (l *loop) takeTerm(ctx context.Context, w *won) {
	if w == nil {
		l.endReign(errors.New("the lease keeper lost the term"))
		return
	}
	l.endReign(errors.New("a new term begins"))
	l.reign = l.newReign(ctx, w)
	l.logLane.reset()
	l.storeLane.reset()
	epoch := w.term.Epoch()
	l.log.Info().Int64("epoch", int64(epoch)).Stringer("position", w.term.Started()).Msg("lease taken")
	switch { // the start may have been folded before the keeper's word came
	case l.state.Epoch() == epoch && l.state.Instance() == w.term.Instance():
		l.start(l.reign)
	case l.state.Epoch() >= epoch:
		l.endReign(errors.New("another coordinator has started"))
	}
}

// start is the moment from which on the reign may act: what has been completed so far is to be looked at again.
func (l *loop) start(r *reign) {
	r.started = true
	for _, list := range [][]projection.Checkpoint{l.state.Completed(), l.state.Savepoints()} {
		for _, cp := range list {
			r.unlanded[cp.ID] = true
		}
	}
	l.log.Info().Int64("epoch", int64(r.term.Epoch())).Int("completed", len(r.unlanded)).Msg("leading")
}

// endReign stops acting. What is in flight ends by its context; what it wrote before was under the token, and the next
// reign repairs the rest. What is pending stays so in the fold until the next coordinator's start ends it.
func (l *loop) endReign(cause error) {
	if l.reign == nil {
		return
	}
	level := zerolog.WarnLevel
	if errors.Is(cause, ErrClosed) { // our own shutdown
		level = zerolog.DebugLevel
	}
	l.log.WithLevel(level).Int64("epoch", int64(l.reign.term.Epoch())).Err(cause).Msg("no longer leading")
	l.reign.cancel(errors.Join(errReignOver, cause))
	close(l.reign.over)
	for _, c := range l.reign.cleanups {
		c.answers <- cleaned{err: ErrNotLeading}
	}
	l.reign = nil
	l.waiters.refuse(ErrNotLeading)
	l.settleAll()
}

// observe notes what an entry means for the reign.
func (r *reign) observe(l *loop, entry eventlog.Entry, o projection.Outcome) {
	r.unsaved++
	switch e := entry.Envelope.Event.(type) {
	case *events.CoordinatorStarted:
		r.observeStart(l, e, o)
	case *events.TaskAcked:
		r.stale = r.stale || o.Kind == projection.Completing
	case *events.TaskRegistered, *events.TaskRestored, *events.TaskRestoreFailed, *events.TaskFinished, *events.TaskLeft,
		*events.TaskLost:
		if o.Changed() {
			r.stale, r.tasksStale = true, true
		}
	case *events.CheckpointCompleted:
		if o.Kind == projection.Applied {
			r.stale, r.unlanded[e.Checkpoint] = true, true
			delete(r.tries, e.Checkpoint)
			delete(r.forced, e.Checkpoint)
		}
	case *events.CheckpointsWithdrawn:
		if o.Changed() {
			r.observeWithdrawn(l)
		}
	case *events.CheckpointFailed:
		r.stale = r.stale || o.Changed()
		delete(r.tries, e.Checkpoint)
		delete(r.forced, e.Checkpoint)
	default:
		r.stale = r.stale || o.Changed()
	}
}

// observeWithdrawn looks again which completed checkpoint is the newest that has landed.
func (r *reign) observeWithdrawn(l *loop) {
	r.stale, r.tasksStale, r.latest = true, true, events.NoCheckpoint
	for _, cp := range l.state.Completed() {
		if !r.unlanded[cp.ID] {
			r.latest = cp.ID
		}
	}
}

func (r *reign) observeStart(l *loop, e *events.CoordinatorStarted, o projection.Outcome) {
	switch own := e.Epoch == r.term.Epoch() && e.Instance == r.term.Instance(); {
	case own && o.Kind == projection.Applied:
		r.stale, r.tasksStale = true, true
		l.start(r)
	case own && !r.started:
		l.log.Error().Stringer("outcome", o.Kind).Str("why", o.Why).Msg("the own start does not count; the epoch in the leader key " +
			"does not fit the log")
		l.endReign(errors.New("the own start does not count"))
	case e.Epoch > r.term.Epoch() && o.Kind == projection.Applied:
		l.endReign(errors.New("another coordinator has started"))
	}
}

// nonce marks the records that this reign creates, so that a repeated creation finds its own.
func (r *reign) nonce() string { return fmt.Sprintf("%s-%s", r.term.Epoch(), r.term.Instance()) }

// fenced ends the reign if err says that its token is void, and reports whether it did.
func (l *loop) fenced(r *reign, err error) bool {
	if !errors.Is(err, eventlog.ErrFenced) && !errors.Is(err, store.ErrFenced) {
		return false
	}
	if l.reign == r {
		l.endReign(err)
	}
	return true
}

// append writes verdicts. What fails, also with an unknown outcome, is repeated under the same event ids until the reign ends:
// the fold counts it once. So the result is the position, or the reason why this reign writes nothing any more.
func (l *loop) append(ctx context.Context, r *reign, list ...events.Event) (events.Position, error) {
	envs := make([]events.Envelope, len(list))
	for i, e := range list {
		envs[i] = events.Envelope{ID: eventlog.NewEventID(), At: time.Now().UnixMilli(), Event: e}
	}
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		at, err := r.term.Append(ctx, envs...)
		switch {
		case err == nil:
			return at[len(at)-1], nil
		case errors.Is(err, eventlog.ErrFenced), errors.Is(err, events.ErrMalformed), errors.Is(err, eventlog.ErrNoLog):
			return events.Position{}, err
		case ctx.Err() == nil:
			l.log.Warn().Err(err).Str("kind", envs[0].Kind().String()).Dur("again_in_ms", wait).Msg("append to the log")
		}
		if !sleep(ctx, wait) {
			return events.Position{}, errors.Join(context.Cause(ctx), err)
		}
	}
}

// verdict returns the effect that appends events and waits for them to be read back.
func (l *loop) verdict(r *reign, list ...events.Event) effect {
	return func(ctx context.Context) result {
		at, err := l.append(ctx, r, list...)
		return l.appended(r, at, err)
	}
}

// appended is the result of an append.
func (l *loop) appended(r *reign, at events.Position, err error) result {
	if err != nil {
		return l.failed(r, "append to the log", err)
	}
	return result{until: at}
}

// failed is the result of an effect that did not succeed: it ends the reign if it was fenced, and is tried again if not.
func (l *loop) failed(r *reign, doing string, err error) result {
	return result{again: true, done: func(l *loop) {
		if l.fenced(r, err) || l.reign != r {
			return
		}
		l.log.Error().Err(err).Msg(doing)
	}}
}
