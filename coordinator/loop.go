package coordinator

import (
	"context"
	"errors"
	"math/rand/v2"
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
	now    time.Duration    // when the newest batch that reached the end of the log was asked for
	caught bool             // whether the log has been read to its end once
	reign  *reign           // nil while another coordinator leads
	floor  floor            // what a rebuilt fold must not fall below
	gap    *eventlog.Gap    // found, and not yet reported in the log
	poison []eventlog.Entry // set aside, and not yet in quarantine; at most mostPoison
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
	terms chan *won
	// turned: sent by the loop after the turn upon a batch that reached the end of the log; one place, so that the loop does
	// not wait for the reader.
	turned chan struct{}
	owed   bool // the reader waits for turned
	// wake is when the next decision falls due, on the clock of began; the reader shortens its wait to it. Written by the
	// loop, read by the reader.
	wake atomic.Int64
	// lead is what the lease keeper needs to campaign. Written by the loop, read by the keeper.
	lead atomic.Pointer[standing]

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
}

func newLoop(cfg Config) *loop {
	l := &loop{
		cfg: cfg, log: cfg.Logger.With().Str("job", cfg.Job.String()).Str("instance", cfg.Instance.String()).Logger(),
		began: time.Now(), state: projection.New(cfg.Job), timing: newTiming(cfg),
		batches: make(chan eventlog.Batch), results: make(chan func(*loop), logSlots+storeSlots),
		commands: make(chan func(*loop)), terms: make(chan *won), turned: make(chan struct{}, 1),
	}
	l.logLane = newLane(logSlots, l.results, &l.effects)
	l.storeLane = newLane(storeSlots, l.results, &l.effects)
	l.waiters.init()
	l.publishStanding()
	return l
}

// newTiming is a clock whose first periodic trigger comes at a random moment between min-pause and interval: many jobs that
// start together then do not go to the store together for ever.
func newTiming(cfg Config) *projection.Timing {
	t := &projection.Timing{First: cfg.Interval}
	if spread := cfg.Interval - cfg.MinPause; spread > 0 {
		t.First = max(cfg.MinPause+rand.N(spread+1), 1)
	}
	return t
}

// run turns until stop is closed and the drain is over, or until the reader has ended. Hurry cuts the drain short.
func (l *loop) run(ctx context.Context, stop, hurry <-chan struct{}) error {
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		l.turn()
		if l.drained() {
			return nil
		}
		if l.owed {
			l.owed = false
			l.turned <- struct{}{}
		}
		alarm.Reset(l.rest())
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
		case w := <-l.terms:
			l.takeTerm(ctx, w)
		case <-alarm.C:
		case <-stop:
			stop = nil
			l.startDrain(l.cfg.DrainTimeout)
		case <-hurry:
			hurry = nil
			l.startDrain(0)
		}
	}
}

// rest is how long the loop may sleep when nothing comes: until an effect may be tried again, something is to be repeated,
// or a shutdown goes on. Timeouts of checkpoints are not among it: they are decided on what the reader brings.
func (l *loop) rest() time.Duration {
	now := l.clock()
	next := now + time.Hour
	earlier := func(at time.Duration, ok bool) {
		if ok {
			next = min(next, at)
		}
	}
	earlier(l.nextDrain())
	if r := l.reign; r != nil && r.started && l.caught {
		earlier(l.logLane.next(now))
		earlier(l.storeLane.next(now))
		earlier(r.looked+l.cfg.PresenceTTL/3, !l.draining() && !l.logLane.runs(keyPresence))
		earlier(r.told+repeatControl, !l.logLane.runs(keyControl))
	}
	return max(next-now, time.Millisecond)
}

// fold applies one batch in order. Only a batch that reached the end of the log moves the clock: its read was sent at
// Sampled, so every ack that was in the log by then has been folded before anything expires.
func (l *loop) fold(b eventlog.Batch) {
	if b.Gap != nil {
		l.crossGap(*b.Gap)
	}
	for _, entry := range b.Entries {
		if entry.Poison != nil {
			l.setAside(entry)
			continue
		}
		l.apply(entry)
	}
	if b.AtEnd {
		l.owed = true
		l.now = max(l.now, b.Sampled.Sub(l.began))
		if !l.caught {
			l.caught = true
			l.settleAll()
			l.log.Info().Stringer("position", l.state.Position()).Msg("log read to its end")
		}
	}
	l.logLane.passed(l.state.Position())
	l.storeLane.passed(l.state.Position())
	l.publishStanding()
}

func (l *loop) apply(entry eventlog.Entry) {
	l.assume(entry)
	outcome := l.state.Apply(entry.Position, entry.Envelope)
	l.timing.Observe(l.clock(), l.state, entry.Envelope, outcome)
	l.tell(entry, outcome)
	if l.reign != nil {
		l.reign.observe(l, entry, outcome)
	}
	l.answer(entry, outcome)
}

// assume lets a fold begin with a high epoch: where the beginning of the log is lost, the token still knows how many there
// have been.
func (l *loop) assume(entry eventlog.Entry) {
	e, ok := entry.Envelope.Event.(*events.CoordinatorStarted)
	if ok && e.Instance == l.cfg.Instance && l.state.Since().IsZero() && e.Epoch-l.state.Epoch() > projection.MaxEpochRise {
		l.log.Warn().Int64("epoch", int64(e.Epoch)).Msg("the log begins with a high epoch; what was before it is lost")
		l.state.Assume(e.Epoch-1, l.floor.nextID)
	}
}

// clock is the monotonic time now. Deadlines count from when the trigger was read back, so a slow start of the reader
// never eats into a timeout.
func (l *loop) clock() time.Duration { return time.Since(l.began) }

func (l *loop) publishStanding() {
	now := standing{ready: l.caught, maxEpoch: max(l.state.MaxEpoch(), l.floor.epoch)}
	if old := l.lead.Load(); old == nil || *old != now {
		l.lead.Store(&now)
	}
}
