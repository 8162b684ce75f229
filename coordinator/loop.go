package coordinator

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// loop owns the fold and everything that is decided from it. All its fields belong to the goroutine of run, unless said
// otherwise. It does no I/O: what it wants done runs in a lane and comes back through results.
type loop struct {
	cfg   Config
	log   zerolog.Logger
	began time.Time // zero of the monotonic clock that Timing uses

	state  *projection.State
	timing *projection.Timing
	now    time.Duration // when the newest batch that reached the end of the log was asked for
	caught bool          // whether the log has been read to its end once
	reign  *reign        // nil while another coordinator leads
	floor  floor         // what a rebuilt fold must not fall below
	gap    *eventlog.Gap // found, and not yet reported in the log
	drain  drain

	logLane, storeLane *lane
	waiters            waiters

	// batches: sent and closed by the reader; unbuffered, so that the reader is at most one batch ahead.
	batches chan eventlog.Batch
	// results: sent by effects, never closed; one place for each slot, so that an effect never waits for the loop.
	results chan func(*loop)
	// commands: sent by the verbs, never closed; unbuffered, a verb waits until the loop takes its command.
	commands chan func(*loop)
	// terms: sent by the lease keeper; a term won, or nil for a term lost; unbuffered.
	terms chan eventlog.Term
	// wake is when the next decision falls due, on the clock of began; the reader shortens its wait to it. Written by the
	// loop, read by the reader.
	wake atomic.Int64
	// lead is what the lease keeper needs to campaign. Written by the loop, read by the keeper.
	lead atomic.Pointer[standing]

	// hurry says that a shutdown does not wait for what is pending. Written by Close, read by the loop.
	hurry atomic.Bool
	// leading is closed by the loop when it may act for the first time; nil afterwards.
	leading chan struct{}

	effects sync.WaitGroup
}

// floor is the highest id and epoch that a fold dropped after a failover had seen: new ones stay above them, since
// workers may have seen them too.
type floor struct {
	nextID events.CheckpointID
	epoch  events.Epoch
}

// standing is what the lease keeper needs to know of the fold.
type standing struct {
	ready    bool         // the log has been read to its end
	maxEpoch events.Epoch // highest epoch seen
	closing  bool
}

func newLoop(cfg Config) *loop {
	l := &loop{
		cfg: cfg, log: cfg.Logger.With().Str("job", cfg.Job.String()).Str("instance", cfg.Instance.String()).Logger(),
		began: time.Now(), state: projection.New(cfg.Job), timing: &projection.Timing{},
		batches: make(chan eventlog.Batch), results: make(chan func(*loop), logSlots+storeSlots),
		commands: make(chan func(*loop)), terms: make(chan eventlog.Term),
	}
	l.logLane = newLane(logSlots, l.results, &l.effects)
	l.storeLane = newLane(storeSlots, l.results, &l.effects)
	l.waiters.init()
	l.publishStanding(false)
	return l
}

// run turns until stop is closed and the drain is over, or until the reader has ended.
func (l *loop) run(ctx context.Context, stop <-chan struct{}) error {
	for {
		l.turn(ctx)
		if l.drained() {
			return nil
		}
		select {
		case b, ok := <-l.batches:
			if !ok {
				return errors.New("the reader of the log has ended")
			}
			l.fold(b)
		case done := <-l.results:
			done(l)
		case command := <-l.commands:
			command(l)
		case term := <-l.terms:
			l.takeTerm(ctx, term)
		case <-stop:
			stop = nil
			l.startDrain()
		}
	}
}

// fold applies one batch in order. Only a batch that reached the end of the log moves the clock: its read was sent at
// Sampled, so every ack that was in the log by then has been folded before anything expires.
func (l *loop) fold(b eventlog.Batch) {
	if b.Gap != nil {
		l.crossGap(*b.Gap)
	}
	for _, entry := range b.Entries {
		if entry.Poison != nil {
			l.quarantine(entry)
			continue
		}
		l.apply(entry)
	}
	if b.AtEnd {
		l.now = max(l.now, b.Sampled.Sub(l.began))
		if !l.caught {
			l.caught = true
			l.log.Info().Stringer("position", l.state.Position()).Msg("log read to its end")
		}
	}
	l.logLane.passed(l.state.Position())
	l.storeLane.passed(l.state.Position())
	l.publishStanding(false)
}

func (l *loop) apply(entry eventlog.Entry) {
	outcome := l.state.Apply(entry.Position, entry.Envelope)
	l.timing.Observe(l.clock(), l.state, entry.Envelope, outcome)
	l.tell(entry, outcome)
	l.waiters.answer(l.state, entry, outcome)
	if l.reign != nil {
		l.reign.observe(l, entry, outcome)
	}
}

// clock is the monotonic time now. Deadlines count from when the trigger was read back, so a slow start of the reader
// never eats into a timeout.
func (l *loop) clock() time.Duration { return time.Since(l.began) }

func (l *loop) publishStanding(closing bool) {
	if old := l.lead.Load(); old != nil && old.closing {
		closing = true
	}
	l.lead.Store(&standing{ready: l.caught, maxEpoch: max(l.state.MaxEpoch(), l.floor.epoch), closing: closing})
}
