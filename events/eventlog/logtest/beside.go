package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// beside are the tests of what is kept beside the log.
func beside() map[string]func(*rig) {
	return map[string]func(*rig){
		"the newest control state is enough":         control,
		"control is followed, newest first":          followControl,
		"assignments are kept by task":               assignments,
		"a sign of life lapses":                      presence,
		"a sign of life yields to a later attempt":   superseded,
		"the fold never goes back within an epoch":   saveFold,
		"the quarantine keeps each entry once":       quarantine,
		"the quarantine is bounded":                  quarantineBound,
		"the log is trimmed below the saved fold":    trim,
		"presences of more tasks than one step asks": manyTasks,
	}
}

func control(r *rig) {
	term := r.lead("a")
	_, ok, err := r.Job.LatestControl(r.ctx)
	r.equal("none yet", []any{ok, err}, []any{false, nil})
	for i := range 3 {
		r.check("write", term.WriteControl(r.ctx, eventlog.Control{TasksVersion: int64(i), LatestCompleted: events.NoCheckpoint}))
	}
	want := eventlog.Control{
		Position: events.Position{Ms: 5, Seq: 6}, LatestCompleted: 0, Expected: 2, TasksVersion: 3, Finished: true,
		Pending: []eventlog.PendingCheckpoint{
			{ID: 0, Type: "savepoint", Epoch: 1, JoiningEvent: `ü"`, TriggeredAt: 17}, {ID: 9, Type: "checkpoint"},
		},
	}
	for i := range 100 { // larger than what is kept of a foreign field
		want.Pending = append(want.Pending, eventlog.PendingCheckpoint{ID: events.CheckpointID(10 + i), Type: "checkpoint", Epoch: 1})
	}
	r.check("write", term.WriteControl(r.ctx, want))
	want.Epoch, want.Instance = 1, "a"
	got, ok, err := r.Other.LatestControl(r.ctx)
	r.equal("latest", []any{got, ok, err}, []any{want, true, nil})
	for got, err := range r.Other.FollowControl(r.ctx, eventlog.FollowOptions{}) {
		r.check("follow", err)
		r.equal("followed", got, want)
		break
	}
}

func followControl(r *rig) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	next, stop := iter.Pull2(r.Other.FollowControl(ctx, eventlog.FollowOptions{}))
	defer stop()
	term := r.lead("a")
	for i := range int64(20) {
		r.check("write", term.WriteControl(r.ctx, eventlog.Control{TasksVersion: i}))
		r.check("write", term.WriteControl(r.ctx, eventlog.Control{TasksVersion: 1000 + i}))
		for seen := int64(-1); seen != 1000+i; {
			c, err, ok := next()
			r.check("follow", err)
			if !ok || c.TasksVersion%1000 < i || c.TasksVersion == seen {
				r.Fatalf("state %d after %d, %v", c.TasksVersion, seen, ok)
			}
			seen = c.TasksVersion
		}
	}
	cancel()
	if _, err, ok := next(); ok {
		r.Errorf("it went on after the end of the context: %v", err)
	}
}

func assignments(r *rig) {
	term := r.lead("a")
	first := map[events.TaskID]eventlog.Assignment{
		"t-1": {Instance: "w-1", Attempt: 3, Restore: 0, Phase: "restoring"},
		"t-2": {Instance: "w-2", Attempt: 1, Restore: events.NoCheckpoint},
	}
	r.check("write", term.WriteTasks(r.ctx, first))
	changed := eventlog.Assignment{Instance: "w-3", Attempt: 2, Restore: 7, Phase: "running"}
	r.check("write", term.WriteTasks(r.ctx, map[events.TaskID]eventlog.Assignment{"t-2": changed}))
	for task, want := range map[events.TaskID]eventlog.Assignment{"t-1": first["t-1"], "t-2": changed} {
		got, ok, err := r.Other.Assignment(r.ctx, task)
		r.equal(string(task), []any{got, ok, err}, []any{want, true, nil})
	}
	_, ok, err := r.Other.Assignment(r.ctx, "t-3")
	r.equal("unknown task", []any{ok, err}, []any{false, nil})
	r.check("write nothing", term.WriteTasks(r.ctx, nil))
	for _, left := range [][]events.TaskID{{"t-2", "t-9"}, nil, nil} {
		r.check("keep", term.KeepTasks(r.ctx, left))
		for _, task := range []events.TaskID{"t-1", "t-2"} {
			_, ok, err := r.Other.Assignment(r.ctx, task)
			r.equal("kept "+string(task), []any{ok, err}, []any{slices.Contains(left, task), nil})
		}
	}
}

func (r *rig) beat(task events.TaskID, p eventlog.Presence, ttl time.Duration) {
	r.Helper()
	r.check("beat", r.Job.Beat(r.ctx, task, p, ttl))
}

func (r *rig) presences(tasks ...events.TaskID) map[events.TaskID]eventlog.Presence {
	r.Helper()
	got, err := r.Other.Presences(r.ctx, tasks)
	r.check("presences", err)
	return got
}

func presence(r *rig) {
	long := eventlog.Presence{Instance: "w-1", Attempt: 1, Phase: "running", Progress: []byte(`{"records":7}`)}
	short := eventlog.Presence{Instance: "w-2", Attempt: 1}
	r.beat("t-1", long, time.Minute)
	r.beat("t-2", short, time.Second)
	r.equal("both", r.presences("t-1", "t-2", "t-3"), map[events.TaskID]eventlog.Presence{"t-1": long, "t-2": short})
	r.poll("t-2 to lapse", func() bool { return len(r.presences("t-2")) == 0 })
	r.equal("left", r.presences("t-1", "t-2"), map[events.TaskID]eventlog.Presence{"t-1": long})
	r.equal("of none", len(r.presences()), 0)
	large := eventlog.Presence{Progress: []byte(`"` + strings.Repeat("x", eventlog.MaxProgress) + `"`)}
	if err := r.Job.Beat(r.ctx, "t-1", large, time.Minute); err == nil {
		r.Error("an unbounded progress was taken")
	}
}

func superseded(r *rig) {
	young := eventlog.Presence{Instance: "w-2", Attempt: 10}
	r.beat("t-1", eventlog.Presence{Instance: "w-1", Attempt: 9}, time.Minute)
	r.beat("t-1", young, time.Second)
	if err := r.Job.Beat(r.ctx, "t-1", eventlog.Presence{Instance: "w-1", Attempt: 9}, time.Minute); !errors.Is(err, eventlog.ErrSuperseded) {
		r.Errorf("beat of the older attempt = %v", err)
	}
	r.beat("t-1", eventlog.Presence{Instance: "w-3"}, time.Minute) // has no attempt yet
	r.equal("presence", r.presences("t-1"), map[events.TaskID]eventlog.Presence{"t-1": young})
	r.poll("t-1 to lapse", func() bool { return len(r.presences("t-1")) == 0 })
	r.beat("t-1", eventlog.Presence{Instance: "w-3"}, time.Minute)
	r.equal("presence", r.presences("t-1"), map[events.TaskID]eventlog.Presence{"t-1": {Instance: "w-3"}})
}

func (r *rig) fold() (at events.Position, state string) {
	r.Helper()
	at, b, ok, err := r.Other.LoadFold(r.ctx)
	r.check("load fold", err)
	if !ok {
		r.Fatal("there is no fold")
	}
	return at, string(b)
}

func saveFold(r *rig) {
	_, _, ok, err := r.Job.LoadFold(r.ctx)
	r.equal("none yet", []any{ok, err}, []any{false, nil})
	term := r.lead("a")
	binary := "\x00\xff\r\n"
	for _, at := range []events.Position{{Ms: 9, Seq: 9}, {Ms: 9, Seq: 10}, {Ms: 10, Seq: 1}, {Ms: 10, Seq: 1}, {Ms: 1 << 60, Seq: 1 << 62}} {
		r.check("save", term.SaveFold(r.ctx, at, []byte(binary+at.String())))
		got, state := r.fold()
		r.equal("fold", []any{got, state}, []any{at, binary + at.String()})
	}
	low := events.Position{Ms: 1 << 60, Seq: 1<<62 - 1}
	if err := term.SaveFold(r.ctx, low, nil); !errors.Is(err, eventlog.ErrFoldBehind) {
		r.Errorf("went back: %v", err)
	}
	r.check("save in a later epoch", r.takeover(term, "b").SaveFold(r.ctx, low, []byte("x")))
	got, state := r.fold()
	r.equal("fold", []any{got, state}, []any{low, "x"})
}

func quarantine(r *rig) {
	term := r.lead("a")
	r.Inject(eventlog.Field{Name: []byte("a\x00"), Value: []byte("\xff\r\n")}, eventlog.Field{Name: []byte("a\x00"), Value: nil})
	var many []eventlog.Field
	for i := range 40 {
		many = append(many, eventlog.Field{Name: fmt.Append(nil, "f", i), Value: []byte("v")})
	}
	r.Inject(many...)
	found := r.all()
	r.check("quarantine", term.Quarantine(r.ctx, found...))
	r.check("quarantine again", term.Quarantine(r.ctx, found[2], found[1]))
	got, err := r.Other.Quarantined(r.ctx, 10)
	r.check("quarantined", err)
	r.equal("newest first", got, []eventlog.Entry{found[2], found[1]})
	got, err = r.Other.Quarantined(r.ctx, 1)
	r.check("quarantined", err)
	r.equal("the newest", got, found[2:])
	r.check("quarantine nothing", term.Quarantine(r.ctx))
}

func quarantineBound(r *rig) {
	term := r.lead("a")
	var flood []eventlog.Entry
	for i := range eventlog.MaxQuarantine + 100 {
		flood = append(flood, eventlog.Entry{
			Position: events.Position{Ms: uint64(i) + 1}, Poison: &eventlog.Poison{Reason: eventlog.PoisonNoID, Text: "x"},
		})
	}
	r.check("quarantine", term.Quarantine(r.ctx, flood...))
	got, err := r.Job.Quarantined(r.ctx, 2*eventlog.MaxQuarantine)
	r.check("quarantined", err)
	if len(got) != eventlog.MaxQuarantine || got[0].Position != flood[len(flood)-1].Position {
		r.Errorf("%d are kept, the newest is %v", len(got), got[0].Position)
	}
}

func trim(r *rig) {
	term := r.lead("a")
	at, err := term.Append(r.ctx, r.acks(900)...)
	r.check("append", err)
	refused := func(before events.Position) {
		r.Helper()
		if n, err := term.Trim(r.ctx, before); n != 0 || !errors.Is(err, eventlog.ErrNotCovered) {
			r.Errorf("trim before %s = %d, %v", before, n, err)
		}
	}
	refused(at[0])
	r.check("save", term.SaveFold(r.ctx, at[700], nil))
	refused(at[701])
	n, err := term.Trim(r.ctx, at[700])
	r.check("trim", err)
	r.equal("removed", n, int64(701))
	r.equal("first", r.all()[0].Position, at[700])
	r.await(r.follow(at[700], eventlog.MinWait), 199)
}

func manyTasks(r *rig) {
	var tasks []events.TaskID
	want := map[events.TaskID]eventlog.Presence{}
	set := map[events.TaskID]eventlog.Assignment{}
	for i := range eventlog.MaxAppend + 10 {
		task := events.TaskID(fmt.Sprint("t-", i))
		tasks = append(tasks, task)
		set[task] = eventlog.Assignment{Instance: "w", Attempt: events.Attempt(i + 1)}
		if i%7 == 0 {
			want[task] = eventlog.Presence{Instance: "w", Attempt: events.Attempt(i)}
			r.beat(task, want[task], time.Minute)
		}
	}
	r.equal("presences", r.presences(tasks...), want)
	r.check("write", r.lead("a").WriteTasks(r.ctx, set))
	last := tasks[len(tasks)-1]
	got, ok, err := r.Job.Assignment(r.ctx, last)
	r.equal("last", []any{got, ok, err}, []any{set[last], true, nil})
}
