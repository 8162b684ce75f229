package logtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

func leading() map[string]func(*rig) {
	return map[string]func(*rig){
		"the first term is epoch 1 and opens the log": func(r *rig) {
			c := candidate("a")
			c.Event, c.Policy.Tasks, c.Policy.Count = "start-1", []events.TaskID{"t-1", "t-2"}, 0
			c.Build = `9" "data":{"epoch":1,` // what the script splices must not be found here
			term, err := r.Job.Campaign(r.ctx, c)
			r.check("campaign", err)
			r.equal("epoch", term.Epoch(), events.Epoch(1))
			r.equal("instance", term.Instance(), c.Instance)
			got := r.all()
			r.same(got, []events.Envelope{c.Started(1)})
			r.equal("started", term.Started(), got[0].Position)
		},
		"of two candidates one leads, and the other is told who": func(r *rig) {
			r.lead("a")
			_, err := r.Other.Campaign(r.ctx, candidate("b"))
			held, ok := errors.AsType[*eventlog.LeaseHeldError](err)
			if !ok || !errors.Is(err, eventlog.ErrLeaseHeld) {
				r.Fatalf("campaign = %v", err)
			}
			if held.Instance != "a" || held.Epoch != 1 || held.Remaining <= 0 || held.Remaining > time.Minute {
				r.Errorf("held %+v", *held)
			}
			r.equal("entries", len(r.all()), 1)
		},
		"of many candidates at once one leads": func(r *rig) {
			const n = 16
			terms := make(chan eventlog.Term, n) // one send each, room for all
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					term, err := r.Other.Campaign(r.ctx, candidate(fmt.Sprint("c-", i)))
					if err == nil {
						terms <- term
					} else if !errors.Is(err, eventlog.ErrLeaseHeld) {
						r.Errorf("campaign = %v", err)
					}
				})
			}
			all.Wait()
			close(terms)
			r.equal("leaders", len(terms), 1)
			r.equal("starts", len(r.all()), 1)
		},
		"an instance may take its own lease again, in a new epoch": func(r *rig) {
			old := r.lead("a")
			r.equal("epoch", r.lead("a").Epoch(), events.Epoch(2))
			r.fenced("renew", old.Renew(r.ctx))
		},
		"a lapsed lease is there to take": func(r *rig) {
			c := candidate("a")
			c.TTL = 30 * time.Millisecond
			_, err := r.Job.Campaign(r.ctx, c)
			r.check("campaign", err)
			r.poll("lease to lapse", func() bool {
				term, err := r.Other.Campaign(r.ctx, candidate("b"))
				if errors.Is(err, eventlog.ErrLeaseHeld) {
					return false
				}
				r.check("campaign", err)
				r.equal("epoch", term.Epoch(), events.Epoch(2))
				return true
			})
		},
		"a lease that is renewed does not lapse, nor does a resigned one stay": func(r *rig) {
			c := candidate("a")
			c.TTL = time.Second
			term, err := r.Job.Campaign(r.ctx, c)
			r.check("campaign", err)
			begin := time.Now()
			r.poll("more than the lease's life", func() bool {
				r.check("renew", term.Renew(r.ctx))
				if _, err := r.Other.Campaign(r.ctx, candidate("b")); !errors.Is(err, eventlog.ErrLeaseHeld) {
					r.Fatalf("campaign = %v", err)
				}
				return time.Since(begin) > c.TTL+200*time.Millisecond
			})
			r.check("resign", term.Resign(r.ctx))
			if _, err := term.Append(r.ctx, r.ack()); err != nil {
				r.Errorf("a resigned term that nobody has followed must still write: %v", err)
			}
			r.lead("b")
			_, err = term.Append(r.ctx, r.ack())
			r.fenced("append", err)
		},
		"the epoch is above every one that was seen": func(r *rig) {
			c := candidate("a")
			c.MinEpoch = 41
			term, err := r.Job.Campaign(r.ctx, c)
			r.check("campaign", err)
			r.equal("epoch", term.Epoch(), events.Epoch(42))
			c.MinEpoch = 3
			term, err = r.Job.Campaign(r.ctx, c)
			r.check("campaign", err)
			r.equal("epoch", term.Epoch(), events.Epoch(43))
		},
		"a candidate without a valid name or policy is refused": func(r *rig) {
			bad := candidate("a b")
			if _, err := r.Job.Campaign(r.ctx, bad); err == nil {
				r.Error("took a bad name")
			}
			bad = candidate("a")
			bad.Policy = events.Policy{}
			if _, err := r.Job.Campaign(r.ctx, bad); err == nil {
				r.Error("took an empty policy")
			}
			if _, ok, _ := r.Job.Last(r.ctx); ok {
				r.Error("something was written")
			}
		},
		"append gives the positions, over several steps": func(r *rig) {
			term := r.lead("a")
			want := r.acks(1100)
			at, err := term.Append(r.ctx, want...)
			r.check("append", err)
			got := r.between(term.Started().Next(), events.End)
			r.same(got, want)
			for i, e := range got {
				if e.Position != at[i] {
					r.Fatalf("position %d is %s, reported as %s", i, e.Position, at[i])
				}
			}
			none, err := term.Append(r.ctx)
			if len(none) > 0 || err != nil {
				r.Errorf("append of nothing: %v, %v", none, err)
			}
		},
		"append refuses the whole of it when one cannot be encoded": func(r *rig) {
			term := r.lead("a")
			if _, err := term.Append(r.ctx, r.ack(), events.Envelope{ID: "x"}); err == nil {
				r.Error("appended")
			}
			r.equal("entries", len(r.all()), 1)
		},
		"append does not begin a deleted log anew": func(r *rig) {
			term := r.lead("a")
			r.Drop()
			if _, err := term.Append(r.ctx, r.ack()); !errors.Is(err, eventlog.ErrNoLog) {
				r.Errorf("append = %v", err)
			}
		},
	}
}
