package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// reign is what the loop has while it leads: the token, and what it knows of the world beside the log. It belongs to the
// loop; effects get copies.
type reign struct {
	term   eventlog.Term
	ctx    context.Context //nolint:containedctx // ends with the reign and cancels its effects
	cancel context.CancelCauseFunc
	store  store.Store
	chunks store.Chunks // nil when the store has none

	began    time.Duration
	started  bool                // our coordinator_started has been folded: we may act
	verified bool                // the store's highest id is known
	nextID   events.CheckpointID // above every id of the store

	finalizing map[events.CheckpointID]int  // tries of each that is or was under way
	landed     map[events.CheckpointID]bool // completed ones whose record says so
	assigned   map[events.TaskID]eventlog.Assignment
	stale      bool             // something that is announced may have changed since it was last looked at
	announced  eventlog.Control // as last written
	told       time.Duration    // when it was written; 0 means never

	missing map[taskRun]time.Duration // attempts without a sign of life, since when
	lost    []events.TaskAttempt      // attempts without a sign of life for too long
	looked  time.Duration             // when presence was last asked for

	savedClock time.Duration
	unsaved    int
}

// errReignOver is the cause with which a reign's context ends.
var errReignOver = errors.New("the reign is over")

func (l *loop) newReign(ctx context.Context, term eventlog.Term) *reign {
	r := &reign{
		term: term, began: l.clock(), store: l.cfg.Store,
		finalizing: make(map[events.CheckpointID]int), landed: make(map[events.CheckpointID]bool),
		assigned: make(map[events.TaskID]eventlog.Assignment),
		missing:  make(map[taskRun]time.Duration), stale: true,
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if js, ok := l.cfg.Store.(store.JobStore); ok {
		fenced := js.Fenced(store.Fence{Epoch: term.Epoch(), Instance: term.Instance()})
		r.store, r.chunks = fenced, fenced
	}
	return r
}

// takeTerm begins or ends a reign, as the lease keeper says.
func (l *loop) takeTerm(ctx context.Context, term eventlog.Term) {
	if term == nil {
		l.endReign(errors.New("the lease keeper lost the term"))
		return
	}
	l.endReign(errors.New("a new term begins"))
	l.reign = l.newReign(ctx, term)
	l.logLane.reset()
	l.storeLane.reset()
	l.log.Info().Int64("epoch", int64(term.Epoch())).Stringer("position", term.Started()).Msg("lease taken")
	// The start may have been folded before the keeper's word came.
	if l.state.Epoch() == term.Epoch() && l.state.Instance() == term.Instance() {
		l.reign.started = true
	}
}

// endReign stops acting. What is in flight ends by its context; what it wrote before was under the token, and the next
// reign repairs the rest.
func (l *loop) endReign(cause error) {
	if l.reign == nil {
		return
	}
	l.log.Warn().Int64("epoch", int64(l.reign.term.Epoch())).Err(cause).Msg("no longer leading")
	l.reign.cancel(errors.Join(errReignOver, cause))
	l.reign = nil
	l.waiters.endReign()
}

// observe notes what an entry means for the reign.
func (r *reign) observe(l *loop, entry eventlog.Entry, o projection.Outcome) {
	r.unsaved++
	if _, ack := entry.Envelope.Event.(*events.TaskAcked); o.Kind == projection.Completing || o.Changed() && !ack {
		r.stale = true
	}
	e, ok := entry.Envelope.Event.(*events.CoordinatorStarted)
	switch {
	case !ok:
	case e.Epoch == r.term.Epoch() && e.Instance == r.term.Instance():
		r.started = true
		l.log.Info().Int64("epoch", int64(e.Epoch)).Msg("leading")
	case e.Epoch > r.term.Epoch() && l.state.Epoch() == e.Epoch:
		l.endReign(errors.New("another coordinator has started"))
	}
}

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

// append writes verdicts. An unknown outcome or a lost connection is repeated under the same event ids until the reign
// ends, which the fold counts once; so the result is the position, or the reason why this reign writes nothing any more.
func (r *reign) append(ctx context.Context, list ...events.Event) (events.Position, error) {
	envs := make([]events.Envelope, len(list))
	for i, e := range list {
		envs[i] = events.Envelope{ID: eventlog.NewEventID(), At: time.Now().UnixMilli(), Event: e}
	}
	var at []events.Position
	err := r.insist(ctx, func() (err error) {
		at, err = r.term.Append(ctx, envs...)
		return err
	})
	if err != nil {
		return events.Position{}, err
	}
	return at[len(at)-1], nil
}

// insist repeats an idempotent write until it succeeds, the token is void, or nothing can make it succeed.
func (r *reign) insist(ctx context.Context, write func() error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := write()
		if err == nil || errors.Is(err, eventlog.ErrFenced) || errors.Is(err, events.ErrMalformed) || errors.Is(err, eventlog.ErrNoLog) {
			return err
		}
		if !sleep(ctx, wait) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// verdict returns the effect that appends events and waits for them to be read back.
func (l *loop) verdict(r *reign, list ...events.Event) effect {
	return func(ctx context.Context) result {
		at, err := r.append(ctx, list...)
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
