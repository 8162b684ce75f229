package logtest

import (
	"context"
	"errors"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

func reading() map[string]func(*rig) {
	return map[string]func(*rig){
		"a missing log is told apart from an empty range": func(r *rig) {
			for _, err := range r.Job.Read(r.ctx, events.Start, events.End) {
				if !errors.Is(err, eventlog.ErrNoLog) {
					r.Errorf("Read of a missing log: %v", err)
				}
				r.n++
			}
			if r.n != 1 {
				r.Errorf("%d answers, want the error alone", r.n)
			}
			_, ok, err := r.Job.Last(r.ctx)
			if ok || err != nil {
				r.Errorf("Last of a missing log: %v, %v", ok, err)
			}
			r.publish(r.ack())
			at := r.all()[0].Position
			if got := r.between(at.Next(), events.End); len(got) > 0 {
				r.Errorf("empty range gave %v", got)
			}
		},
		"published events come back in order, in bounded batches": func(r *rig) {
			want := r.acks(1300)
			term := r.lead("a")
			r.publish(want[:3]...)
			_, err := term.Append(r.ctx, want[3:]...)
			r.check("append", err)
			var got []eventlog.Entry
			atEnd := false
			for b, err := range r.Other.Read(r.ctx, term.Started().Next(), events.End) {
				r.check("read", err)
				if len(b.Entries) == 0 || len(b.Entries) > 512 || b.Sampled.IsZero() || b.Gap != nil || atEnd {
					r.Errorf("batch of %d, sampled %v, gap %v, after the end %v", len(b.Entries), b.Sampled, b.Gap, atEnd)
				}
				atEnd = b.AtEnd
				got = append(got, b.Entries...)
			}
			r.same(got, want)
			last, ok, err := r.Other.Last(r.ctx)
			if err != nil || !ok || last != got[len(got)-1].Position {
				r.Errorf("Last = %v, %v, %v; want %v", last, ok, err, got[len(got)-1].Position)
			}
		},
		"both ends of a range belong to it": func(r *rig) {
			r.publish(r.acks(5)...)
			e := r.all()
			r.equal("range", r.between(e[1].Position, e[3].Position), e[1:4])
			r.equal("one", r.between(e[2].Position, e[2].Position), e[2:3])
			if got := r.between(e[3].Position, e[1].Position); len(got) > 0 {
				r.Errorf("a range that ends before it begins gave %v", got)
			}
		},
		"an event that was published twice is there twice, under one id": func(r *rig) {
			env := r.ack()
			r.publish(env)
			r.publish(env)
			r.same(r.all(), []events.Envelope{env, env})
		},
		"an envelope that cannot be encoded is refused, and those before it are there": func(r *rig) {
			good, noID, noEvent := r.ack(), r.ack(), events.Envelope{ID: "x"}
			noID.ID = ""
			for _, bad := range []events.Envelope{noID, noEvent} {
				if err := r.Job.Publish(r.ctx, good, bad, r.ack()); err == nil {
					r.Error("published")
				}
			}
			r.same(r.all(), []events.Envelope{good, good})
		},
		"a range that the context cuts short is an error": func(r *rig) {
			r.publish(r.acks(3)...)
			ctx, cancel := context.WithCancel(r.ctx)
			cancel()
			for _, err := range r.Job.Read(ctx, events.Start, events.End) {
				if !errors.Is(err, context.Canceled) {
					r.Errorf("Read = %v", err)
				}
				r.n = -1
			}
			if r.n != -1 {
				r.Error("Read ended without an error")
			}
		},
		"the loop may stop reading": func(r *rig) {
			term := r.lead("a")
			_, err := term.Append(r.ctx, r.acks(1200)...)
			r.check("append", err)
			for _, err := range r.Job.Read(r.ctx, events.Start, events.End) {
				r.check("read", err)
				break
			}
			for _, err := range r.Job.Follow(r.ctx, events.Start, eventlog.FollowOptions{}) {
				r.check("follow", err)
				break
			}
		},
		"poison of each kind is delivered in its place and stops nobody": poison,
	}
}

func poison(r *rig) {
	field := func(name, value string) eventlog.Field {
		return eventlog.Field{Name: []byte(name), Value: []byte(value)}
	}
	id := field(events.FieldID, "e-1")
	huge := strings.Repeat("x", events.MaxPayload+1)
	cases := []struct {
		reason eventlog.PoisonReason
		fields []eventlog.Field
	}{
		{eventlog.PoisonNoID, []eventlog.Field{field("payload", "{}")}},
		{eventlog.PoisonNoID, []eventlog.Field{field("foo", "bar")}},
		{eventlog.PoisonBadID, []eventlog.Field{field(events.FieldID, "a b"), field("payload", "{}")}},
		{eventlog.PoisonBadID, []eventlog.Field{field(events.FieldID, ""), field("payload", "{}")}},
		{eventlog.PoisonNoPayload, []eventlog.Field{id, field("other", "1")}},
		{eventlog.PoisonTooLarge, []eventlog.Field{id, field("payload", huge)}},
		{eventlog.PoisonMalformed, []eventlog.Field{id, field("payload", "")}},
		{eventlog.PoisonMalformed, []eventlog.Field{id, field("payload", "{")}},
		{eventlog.PoisonMalformed, []eventlog.Field{id, field("payload", "\x00\xff\xfe\r\n$5\r\n")}},
		{eventlog.PoisonMalformed, []eventlog.Field{id, field("payload", `{"v":1,"kind":"task_lost","at":1,"data":{"task":7}}`)}},
		{eventlog.PoisonUnknownKind, []eventlog.Field{id, field("payload", `{"v":1,"kind":"nope","at":1,"data":{}}`)}},
		{eventlog.PoisonUnknownVersion, []eventlog.Field{id, field("payload", `{"v":9,"kind":"task_lost","at":1,"data":{}}`)}},
	}
	var want []events.Envelope
	for _, c := range cases {
		r.Inject(c.fields...)
		good := r.ack()
		want = append(want, good)
		r.publish(good)
	}
	for name, got := range map[string][]eventlog.Entry{
		"read": r.all(), "follow": r.await(r.follow(events.Start, eventlog.MinWait), 2*len(cases)),
	} {
		var good []eventlog.Entry
		for i, e := range got {
			if i%2 == 1 {
				good = append(good, e)
				continue
			}
			r.samePoison(name, e, cases[i/2].reason, cases[i/2].fields)
		}
		r.same(good, want)
	}
}

func (r *rig) samePoison(name string, e eventlog.Entry, reason eventlog.PoisonReason, fields []eventlog.Field) {
	r.Helper()
	size := int64(0)
	for _, f := range fields {
		size += int64(len(f.Name) + len(f.Value))
	}
	p := e.Poison
	if p == nil || p.Reason != reason || p.Text == "" || p.Size != size {
		r.Errorf("%s: %s is %+v, want %s of %d bytes", name, e.Position, p, reason, size)
		return
	}
	if size <= eventlog.MaxPoison {
		r.equal(name+": fields of "+string(reason), p.Fields, fields)
		return
	}
	kept := 0
	for _, f := range p.Fields {
		kept += len(f.Name) + len(f.Value)
	}
	if kept != eventlog.MaxPoison {
		r.Errorf("%s: kept %d bytes of %s, want %d", name, kept, reason, eventlog.MaxPoison)
	}
}
