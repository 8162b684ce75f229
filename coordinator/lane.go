package coordinator

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// effect is I/O on behalf of the loop. It runs elsewhere and returns what the loop is to do with its outcome; it must not
// touch the loop itself. Its context ends when the reign ends.
type effect func(ctx context.Context) result

// result is the outcome of an effect.
type result struct {
	// done, if not nil, runs in the loop.
	done func(*loop)
	// until, if not zero, is a position that the effect appended: the effect counts as under way until the fold has passed
	// it, so that the loop, which asks for the same thing in each turn, does not ask again before it has read its own verdict.
	until events.Position
	// again says that the effect did not succeed: it is not started again before a pause, which grows.
	again bool
}

// How many effects of each kind run at once. They are kept apart so that a store that hangs cannot hold up a verdict.
const (
	logSlots   = 4
	storeSlots = 8
)

// Pauses before an effect that failed is tried again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 10 * time.Second
)

// lane runs effects, at most slots at once, and each at most once at a time under its key. It belongs to the loop. What
// waits is bounded by what the fold holds: there is one key for each thing to do with each checkpoint, task or request.
type lane struct {
	busy    map[string]bool
	until   map[string]events.Position
	pauses  map[string]pause
	waiting []job
	slots   int
	results chan<- func(*loop)
	wg      *sync.WaitGroup
}

type pause struct {
	length time.Duration
	ends   time.Duration
}

// job is an effect that waits for a slot.
type job struct {
	key string
	ctx context.Context //nolint:containedctx // the reign that it belongs to; it only waits here
	run effect
}

func newLane(slots int, results chan<- func(*loop), wg *sync.WaitGroup) *lane {
	return &lane{
		busy: make(map[string]bool), until: make(map[string]events.Position), pauses: make(map[string]pause),
		slots: slots, results: results, wg: wg,
	}
}

// start runs the effect unless one of the same key is under way, waits or pauses at now.
func (l *lane) start(ctx context.Context, now time.Duration, key string, run effect) {
	if !l.ready(now, key) {
		return
	}
	l.busy[key] = true
	l.waiting = append(l.waiting, job{key: key, ctx: ctx, run: run})
	l.fill()
}

// fill starts what waits while slots are free.
func (l *lane) fill() {
	for l.slots > 0 && len(l.waiting) > 0 {
		j := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.slots--
		l.wg.Go(func() {
			res := j.run(j.ctx)
			l.results <- func(loop *loop) { l.finish(loop, j, res) }
		})
	}
}

func (l *lane) finish(loop *loop, j job, res result) {
	l.slots++
	over := j.ctx.Err() != nil // of an earlier reign: neither pause nor position mean anything now
	switch {
	case res.again && !over:
		length := min(max(2*l.pauses[j.key].length, firstPause), lastPause)
		l.pauses[j.key] = pause{length: length, ends: loop.clock() + length}
		delete(l.busy, j.key)
	case !over && res.until.After(loop.state.Position()):
		l.until[j.key] = res.until
		delete(l.pauses, j.key)
	default:
		delete(l.busy, j.key)
		delete(l.pauses, j.key)
	}
	if res.done != nil {
		res.done(loop)
	}
	l.fill()
}

// passed ends what waited for the fold to come this far.
func (l *lane) passed(at events.Position) {
	for key, until := range l.until {
		if !until.After(at) {
			delete(l.until, key)
			delete(l.busy, key)
		}
	}
}

// reset forgets what waits for the fold and all pauses: a new reign begins.
func (l *lane) reset() {
	for key := range l.until {
		delete(l.until, key)
		delete(l.busy, key)
	}
	clear(l.pauses)
}

// ready reports whether start would start it.
func (l *lane) ready(now time.Duration, key string) bool {
	return !l.busy[key] && l.pauses[key].ends <= now
}

// runs reports whether an effect of the key is under way or waits.
func (l *lane) runs(key string) bool { return l.busy[key] }

// runsAny reports whether an effect whose key begins so is under way or waits.
func (l *lane) runsAny(prefix string) bool {
	for key := range l.busy {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// full reports whether more would only wait.
func (l *lane) full() bool { return len(l.waiting) >= cap(l.results) }

// idle reports whether nothing is under way or waits.
func (l *lane) idle() bool { return len(l.busy) == 0 }

// next is when the first pause ends. Pauses long over, of things that need not be done any more, are forgotten.
func (l *lane) next(now time.Duration) (time.Duration, bool) {
	first, found := time.Duration(0), false
	for key, p := range l.pauses {
		if p.ends+2*lastPause < now {
			delete(l.pauses, key)
		}
		if p.ends > now && (!found || p.ends < first) {
			first, found = p.ends, true
		}
	}
	return first, found
}
