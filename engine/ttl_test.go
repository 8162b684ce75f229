package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// visits counts the visits of each key that came without a pause.
func visits(s engine.Stream[event], ttl engine.TTL, rows *engine.Rows[string]) {
	out := engine.Process(engine.KeyBy(s, func(e event) string { return e.Key }), func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, string] {
		n := engine.Declare(op, engine.Descriptor[int]{Name: "n", Default: 100, TTL: ttl})
		return func(_ engine.Context, k string, e event, emit func(string)) error {
			if e.N == 0 { // look, but write nothing
				emit(fmt.Sprint(k, n.Get()))
				return nil
			}
			if _, ok := n.Lookup(); !ok {
				n.Put(0)
			}
			n.Put(n.Get() + 1)
			emit(fmt.Sprint(k, n.Get()))
			return nil
		}
	})
	engine.ToRows(out, rows)
}

func visit(ts int64, key string) event { return event{key, ts, 1} }
func look(ts int64, key string) event  { return event{key, ts, 0} }

func TestValuesExpire(t *testing.T) {
	in := []event{visit(0, "a"), visit(5, "a"), visit(14, "a"), look(23, "a"), look(24, "a"), visit(25, "a"), visit(36, "b"), look(36, "a")}
	for name, c := range map[string]struct {
		ttl   engine.TTL
		timed bool
		want  string
	}{
		"in the time of records":              {engine.TTL{After: 10 * ms}, false, "a1 a2 a3 a3 a100 a1 b1 a100"},
		"in processing time that records are": {engine.TTL{After: 10 * ms, Domain: engine.InProcessingTime}, false, "a1 a2 a3 a3 a100 a1 b1 a100"},
		"renewed by reading":                  {engine.TTL{After: 10 * ms, OnRead: true}, false, "a1 a2 a3 a3 a3 a4 b1 a100"},
		"in event time":                       {engine.TTL{After: 10 * ms}, true, "a1 a2 a3 a3 a100 a1 b1 a100"},
		"not yet":                             {engine.TTL{After: time.Hour}, false, "a1 a2 a3 a3 a3 a4 b1 a4"},
	} {
		t.Run(name, func(t *testing.T) {
			g := engine.New(engine.Config{})
			var rows engine.Rows[string]
			s := engine.Map(engine.From(g, watched{in, calm().before}), func(e event) event { return e })
			if c.timed {
				s = engine.EventTime(s, nil, engine.Ascending())
			}
			visits(s, c.ttl, &rows)
			if err := build(t, g).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, strings.Join(rows.All(), " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

// What has expired takes no memory for long, though nobody asks for those keys any more.
func TestExpiredValuesAreSweptAway(t *testing.T) {
	in := make([]event, 10_000)
	for i := range in {
		in[i] = visit(int64(i), fmt.Sprint(i))
	}
	g := engine.New(engine.Config{})
	var rows engine.Rows[string]
	visits(engine.From(g, watched{in, calm().before}), engine.TTL{After: 100 * ms}, &rows)
	p := build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	states, err := p.States(t.Context())
	if err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	if n := states[0].Keys; n < 100 || n > 400 {
		t.Errorf("%d keys are left, 100 live", n)
	}
}

// A value expires after a restore as if nothing had happened.
func TestValuesExpireAfterARestore(t *testing.T) {
	in := []event{visit(0, "a"), visit(30, "b"), look(9, "a"), look(9, "b")}
	graph := func(in []event, rows *engine.Rows[string]) *engine.Graph {
		g := engine.New(engine.Config{})
		visits(engine.From(g, watched{in, calm().before}), engine.TTL{After: 20 * ms, Domain: engine.InProcessingTime}, rows)
		return g
	}
	var rows engine.Rows[string]
	p := build(t, graph(in[:2], &rows))
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The time that records stand for is part of the cut: it was 30, so a record of 9 does not take it back.
	cut := encode(t, mustCut(t, p, 1))
	for name, b := range cut {
		if strings.HasPrefix(name, "source-1") { // as if the input had not ended
			b[len(b)-1] = 0
		}
	}
	second := build(t, graph(in, &rows))
	if err := second.Restore(t.Context(), cut, engine.Adopt); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("a1 b1 a100 b1", strings.Join(rows.All(), " ")); d != "" {
		t.Error(d)
	}
}

func TestTTLMistakes(t *testing.T) {
	for _, ttl := range []engine.TTL{{After: -1}, {After: time.Microsecond}, {OnRead: true}, {After: time.Hour, Domain: 7}} {
		g := engine.New(engine.Config{})
		var rows engine.Rows[string]
		visits(engine.From(g, watched{nil, calm().before}), ttl, &rows)
		if _, err := g.Build(); err == nil {
			t.Errorf("%+v: accepted", ttl)
		}
	}
}
