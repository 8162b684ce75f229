package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// sessionsByTimers closes a session of a key 50 after its last record, by a timer that every record puts off; and beats every
// 30 as long as it is open. Records are of 5 keys, in disorder.
func sessionsByTimers(parallelism int, timed bool, rows *engine.Rows[string], before func(i int64) error) *engine.Graph {
	g := engine.New(engine.Config{Parallelism: parallelism, Queue: 8})
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]event, 400)
	for i := range in {
		in[i] = event{string(rune('a' + r.IntN(5))), int64(i*10) + r.Int64N(40), int64(i)}
	}
	s := engine.TryMap(engine.From(g, watched{in, calm().before}), func(_ engine.Context, e event) (event, error) { return e, before(e.N) })
	if timed {
		s = engine.EventTime(s, nil, engine.Bounded(40*ms))
	}
	type open struct{ Last, N int64 }
	out := engine.Process(engine.KeyBy(s, func(e event) string { return e.Key }), func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, string] {
		session := engine.ValueOf[open](op, "open")
		timers := op.Timers()
		engine.OnTimer(op, func(_ engine.Context, t engine.Timer[string], emit func(string)) error {
			o, ok := session.Lookup()
			switch {
			case t.Domain == engine.InProcessingTime && ok:
				emit(fmt.Sprint(t.Key, " beats ", t.Time, " ", o.N))
				timers.RegisterProcessingTime(t.Time + 30)
			case t.Domain == engine.InEventTime && ok && t.Time == o.Last+50:
				emit(fmt.Sprint(t.Key, " ends ", t.Time, " ", o.N))
				session.Clear()
			}
			return nil
		})
		return func(_ engine.Context, key string, e event, emit func(string)) error {
			o := session.Get()
			if o.N == 0 {
				timers.RegisterProcessingTime(e.TS + 30)
			} else {
				timers.DeleteEventTime(o.Last + 50)
			}
			o = open{max(o.Last, e.TS), o.N + 1}
			timers.RegisterEventTime(o.Last + 50)
			session.Put(o)
			emit(fmt.Sprint(key, " ", e.N))
			return nil
		}
	})
	engine.ToRows(out, rows)
	return g
}

// ofKey gives what happened to one key, in order.
func ofKey(rows []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(s string) bool { return !strings.HasPrefix(s, key+" ") })
}

// Timers are in the cut, and fire as if nothing had happened, with however many subtasks before and after.
func TestTimersGoOnAfterARestore(t *testing.T) {
	for _, timed := range []bool{true, false} {
		var want engine.Rows[string]
		calmly := func(int64) error { return nil }
		if err := build(t, sessionsByTimers(1, timed, &want, calmly)).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(want.All(), func(s string) bool { return strings.Contains(s, "ends") }) {
			t.Fatal("no timer fired")
		}
		for _, change := range [][2]int{{1, 1}, {1, 3}, {3, 3}, {3, 1}, {2, 4}} {
			var got engine.Rows[string]
			first := build(t, sessionsByTimers(change[0], timed, &got, func(i int64) error {
				if i == 230 {
					return errBoom
				}
				return nil
			}))
			var cuts []*engine.Snapshot
			cuts = append(cuts, mustCut(t, first, 0))
			done := make(chan struct{})
			go func() {
				defer close(done)
				if err := first.Run(t.Context()); err == nil {
					t.Error("it should have failed")
				}
			}()
			for {
				s, err := first.Cut(t.Context(), int64(len(cuts)))
				if err != nil {
					break // it has failed
				}
				if len(cuts) < 50 {
					cuts = append(cuts, s)
				} else {
					cuts[len(cuts)-1] = s
				}
			}
			<-done
			second := build(t, sessionsByTimers(change[1], timed, &got, calmly))
			if err := second.Restore(t.Context(), encode(t, cuts[len(cuts)-1]), engine.Adopt); err != nil {
				t.Fatal(err)
			}
			if err := second.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for key := 'a'; key < 'f'; key++ {
				if d := cmp.Diff(ofKey(want.All(), string(key)), ofKey(got.All(), string(key))); d != "" {
					t.Errorf("timed %t, from %d to %d subtasks, key %c: %s", timed, change[0], change[1], key, d)
				}
			}
		}
	}
}
