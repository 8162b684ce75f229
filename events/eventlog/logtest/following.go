package logtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

func following() map[string]func(*rig) {
	return map[string]func(*rig){
		"it gives what is there and then what comes": func(r *rig) {
			old, young := r.acks(700), r.acks(2)
			term := r.lead("a")
			_, err := term.Append(r.ctx, old...)
			r.check("append", err)
			next := r.follow(term.Started(), 20*eventlog.MinWait)
			got := r.await(next, len(old))
			for b := next(); !b.AtEnd; b = next() {
				r.Errorf("batch of %d at the end, not marked so", len(b.Entries))
			}
			r.publish(young...)
			r.same(append(got, r.await(next, 2)...), append(old, young...))
		},
		"it waits for a log that is still to come": func(r *rig) {
			next := r.follow(events.Start, eventlog.MinWait)
			if b := next(); len(b.Entries) > 0 || !b.AtEnd || b.Gap != nil {
				r.Errorf("first batch of no log is %+v", b)
			}
			env := r.ack()
			r.publish(env)
			r.same(r.await(next, 1), []events.Envelope{env})
		},
		"the first answer does not wait": func(r *rig) {
			r.publish(r.ack())
			last, _, err := r.Job.Last(r.ctx)
			r.check("last", err)
			begin := time.Now()
			b := r.follow(last, eventlog.MaxWait)()
			if len(b.Entries) > 0 || !b.AtEnd || time.Since(begin) >= eventlog.MaxWait {
				r.Errorf("after %v came %+v", time.Since(begin), b)
			}
		},
		"an empty batch tells the time when nothing comes": func(r *rig) {
			next := r.follow(events.Start, eventlog.MinWait)
			last := time.Time{}
			for range 4 {
				before := time.Now()
				b := next()
				if !b.AtEnd || len(b.Entries) > 0 || b.Sampled.Before(before) || b.Sampled.Before(last) || b.Sampled.After(time.Now()) {
					r.Errorf("batch %+v, asked for at %v", b, before)
				}
				last = b.Sampled
			}
		},
		"the wait is asked for before each read and kept within its bounds": func(r *rig) {
			var asked atomic.Int64
			opts := eventlog.FollowOptions{MaxWait: func() time.Duration {
				asked.Add(1)
				return -time.Hour
			}}
			for _, err := range r.Job.Follow(r.ctx, events.Start, opts) {
				r.check("follow", err)
				if r.n++; r.n == 3 {
					break
				}
			}
			if got := asked.Load(); got < 2 {
				r.Errorf("asked %d times in 3 batches", got)
			}
			opts.MaxWait = func() time.Duration { return time.Hour }
			r.equal("longest wait", opts.Wait(), eventlog.MaxWait)
			opts.MaxWait = nil
			r.equal("default wait", opts.Wait(), eventlog.DefaultWait)
		},
		"at the end everything appended before the sample has come": func(r *rig) {
			next := r.follow(events.Start, eventlog.MaxWait)
			for range 20 {
				env := r.ack()
				r.publish(env)
				appended := time.Now()
				var got []eventlog.Entry
				for b := next(); ; b = next() {
					got = append(got, b.Entries...)
					if b.AtEnd && !b.Sampled.Before(appended) || len(got) > 0 {
						break
					}
				}
				r.same(got, []events.Envelope{env})
			}
		},
		"the end of the context ends it at once, without an error": func(r *rig) {
			ctx, cancel := context.WithCancel(r.ctx)
			var at time.Time
			wait := func() time.Duration {
				if r.n > 0 { // the first answer does not wait; this read does
					at = time.Now()
					cancel()
				}
				return eventlog.MaxWait
			}
			for _, err := range r.Job.Follow(ctx, events.Start, eventlog.FollowOptions{MaxWait: wait}) {
				r.check("follow", err)
				r.n++
			}
			if took := time.Since(at); took >= eventlog.MaxWait {
				r.Errorf("ended after %v", took)
			}
			cancel()
		},
		"two followers see the same": func(r *rig) {
			a, b := r.follow(events.Start, eventlog.MinWait), r.follow(events.Start, eventlog.MinWait)
			want := r.acks(10)
			for _, env := range want {
				r.publish(env)
			}
			first := r.await(a, 10)
			r.same(first, want)
			r.equal("second", r.await(b, 10), first)
		},
	}
}

func gaps() map[string]func(*rig) {
	return map[string]func(*rig){
		"trimmed beyond the anchor while following": func(r *rig) {
			r.publish(r.acks(2)...)
			next := r.follow(events.Start, eventlog.MinWait)
			got := r.await(next, 2)
			more := r.acks(3)
			r.publish(more...)
			e := r.all()
			r.TrimTo(e[4].Position)
			r.gap(next, eventlog.Gap{After: got[1].Position, Before: e[4].Position, Cause: events.GapTrimmed}, 3)
			r.same(r.await(next, 1), more[2:])
		},
		"trimmed beyond the position to follow from": func(r *rig) {
			envs := r.acks(4)
			r.publish(envs...)
			e := r.all()
			r.TrimTo(e[2].Position)
			next := r.follow(e[1].Position, eventlog.MinWait)
			r.gap(next, eventlog.Gap{After: e[1].Position, Before: e[2].Position, Cause: events.GapTrimmed}, 0)
			r.same(r.await(next, 2), envs[2:])
		},
		"trimmed up to the anchor is none": func(r *rig) {
			envs := r.acks(4)
			r.publish(envs...)
			e := r.all()
			r.TrimTo(e[1].Position)
			r.same(r.await(r.follow(e[1].Position, eventlog.MinWait), 2), envs[2:])
		},
		"deleted while following": func(r *rig) {
			r.publish(r.acks(2)...)
			next := r.follow(events.Start, eventlog.MinWait)
			got := r.await(next, 2)
			r.Drop()
			r.gap(next, eventlog.Gap{After: got[1].Position, Cause: events.GapDeleted}, 0)
			env := r.ack()
			r.publish(env)
			r.same(r.await(next, 1), []events.Envelope{env})
		},
		"deleted and begun anew before the read": func(r *rig) {
			r.publish(r.acks(2)...)
			e := r.all()
			r.Drop()
			young := r.acks(2)
			r.poll("time to pass, so that positions differ", func() bool {
				r.publish(young[0])
				first := r.all()[0].Position
				if first.After(e[1].Position) {
					return true
				}
				r.Drop()
				return false
			})
			r.publish(young[1])
			cause := events.GapDeleted
			if r.Uncounted {
				cause = events.GapTrimmed
			}
			next := r.follow(e[1].Position, eventlog.MinWait)
			r.gap(next, eventlog.Gap{After: e[1].Position, Before: r.all()[0].Position, Cause: cause}, 0)
			r.same(r.await(next, 2), young)
		},
		"the end went back": func(r *rig) {
			envs := r.acks(2)
			r.publish(envs...)
			future := events.Position{Ms: uint64(time.Now().Add(time.Hour).UnixMilli())}
			next := r.follow(future, eventlog.MinWait)
			r.gap(next, eventlog.Gap{After: future, Before: r.all()[0].Position, Cause: events.GapFailover}, 0)
			r.same(r.await(next, 2), envs)
		},
	}
}

// gap waits for a gap; up to may entries can come before it, when the read was faster than the damage.
func (r *rig) gap(next func() eventlog.Batch, want eventlog.Gap, may int) {
	r.Helper()
	for b := next(); ; b = next() {
		if b.Gap != nil {
			if len(b.Entries) > 0 || b.AtEnd {
				r.Errorf("a gap came with %d entries, at end %v", len(b.Entries), b.AtEnd)
			}
			r.equal("gap", *b.Gap, want)
			return
		}
		if may -= len(b.Entries); may < 0 {
			r.Fatal("entries came instead of a gap")
		}
	}
}
