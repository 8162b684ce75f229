package logtest

import (
	"errors"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// writes are all that a term can do, each with a name.
func (r *rig) writes(t eventlog.Term) map[string]func() error {
	return map[string]func() error{
		"append":        func() error { _, err := t.Append(r.ctx, r.ack()); return err },
		"renew":         func() error { return t.Renew(r.ctx) },
		"resign":        func() error { return t.Resign(r.ctx) },
		"write control": func() error { return t.WriteControl(r.ctx, eventlog.Control{TasksVersion: 99}) },
		"write tasks": func() error {
			return t.WriteTasks(r.ctx, map[events.TaskID]eventlog.Assignment{"t-9": {Instance: "w", Attempt: 9}})
		},
		"keep tasks": func() error { return t.KeepTasks(r.ctx, nil) },
		"save fold":  func() error { return t.SaveFold(r.ctx, events.Position{Ms: 99}, []byte("old")) },
		"quarantine": func() error {
			return t.Quarantine(r.ctx, eventlog.Entry{Position: events.Position{Ms: 99}, Poison: &eventlog.Poison{Reason: "no_id"}})
		},
		"trim": func() error { _, err := t.Trim(r.ctx, events.End); return err },
	}
}

func (r *rig) fenced(what string, err error) {
	r.Helper()
	if !errors.Is(err, eventlog.ErrFenced) {
		r.Errorf("%s = %v, want it fenced", what, err)
	}
}

// untouched fails the test if any of the writes has left a trace.
func (r *rig) untouched(entries int) {
	r.Helper()
	r.equal("entries", len(r.all()), entries)
	_, ok, err := r.Job.LatestControl(r.ctx)
	r.equal("control", []any{ok, err}, []any{false, nil})
	_, ok, err = r.Job.Assignment(r.ctx, "t-9")
	r.equal("assignment", []any{ok, err}, []any{false, nil})
	_, _, ok, err = r.Job.LoadFold(r.ctx)
	r.equal("fold", []any{ok, err}, []any{false, nil})
	poison, err := r.Job.Quarantined(r.ctx, 10)
	r.check("quarantined", err)
	r.equal("quarantine", len(poison), 0)
}

func fencing() map[string]func(*rig) {
	return map[string]func(*rig){
		"a paused coordinator that wakes up under a later term changes nothing": func(r *rig) {
			old := r.lead("a")
			young := r.takeover(old, "b")
			for name, write := range r.writes(old) {
				r.fenced(name, write())
			}
			r.untouched(2)
			if _, err := r.Job.Campaign(r.ctx, candidate("c")); !errors.Is(err, eventlog.ErrLeaseHeld) {
				r.Errorf("the old term ended the new one's lease: %v", err)
			}
			_, err := young.Append(r.ctx, r.ack())
			r.check("append in the new term", err)
		},
		"a missing token refuses": func(r *rig) {
			term := r.lead("a")
			r.DropToken()
			for name, write := range r.writes(term) {
				r.fenced(name, write())
			}
			r.untouched(1)
		},
		"all of it works under the token": func(r *rig) {
			term := r.lead("a")
			writes := r.writes(term)
			delete(writes, "trim") // the fold does not cover the end of the log
			for name, write := range writes {
				r.check(name, write())
			}
			r.equal("entries", len(r.all()), 2)
		},
	}
}
