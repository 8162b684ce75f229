package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// total sums up windows: put together of slices where there is a merge, else record by record. Rows show their timestamp.
func total(w windowed, merge func(a, b int64) int64) engine.Stream[string] {
	sums := engine.Aggregate(w, engine.Aggregation[event, int64, int64]{
		New:    func() int64 { return 0 },
		Add:    func(n int64, e event) int64 { return n + e.N },
		Merge:  merge,
		Result: func(n int64) int64 { return n },
	})
	return engine.TryMap(sums, func(c engine.Context, r engine.Result[string, int64]) (string, error) {
		return fmt.Sprintf("%s%v=%d@%d", r.Key, r.Window, r.Value, c.Timestamp()), nil
	})
}

func add(a, b int64) int64 { return a + b }

// Windows of slices give the rows, and drop the records, that windows with all their records do: in the same order, with the
// same timestamps, also where a record is late for some of its windows.
func TestSlicesAreTheSameAsWholeWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		slide, n := rapid.Int64Range(1, 40).Draw(rt, "slide"), rapid.Int64Range(2, 6).Draw(rt, "slices")
		offset := time.Duration(rapid.Int64Range(1-slide, slide-1).Draw(rt, "by")) * ms
		a := window.Sliding(time.Duration(n*slide)*ms, time.Duration(slide)*ms).WithOffset(offset)
		run := func(merge func(a, b int64) int64) ([]string, []event, engine.WindowProgress) {
			g := engine.New(engine.Config{MaxParallelism: p.groups})
			timed := engine.EventTime(engine.From(g, engine.Slice(p.in)), func(e event) int64 { return e.TS }, engine.Bounded(p.disorder))
			late := engine.NewSideOutput[event]("late")
			rows := total(engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), a).WithLateOutput(late), merge)
			var kept engine.Rows[string]
			var strays engine.Rows[event]
			engine.ToRows(rows, &kept)
			engine.ToRows(engine.Side(rows, late), &strays)
			pl := build(rt, g)
			if err := pl.Run(t.Context()); err != nil {
				rt.Fatal(err)
			}
			return kept.All(), strays.All(), pl.Progress().Windows[0]
		}
		want, wantLate, wantCounts := run(nil)
		got, late, counts := run(add)
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatal(d)
		}
		if d := cmp.Diff(wantLate, late); d != "" || counts != wantCounts {
			rt.Fatal(d, counts, wantCounts)
		}
	})
}

// A cut behind the windows, while one of them is being emitted, has what is still to come of it and nothing else.
func TestCutWhileAWindowOfSlicesIsEmitted(t *testing.T) {
	in := []event{{"a", 0, 1}, {"b", 1, 2}, {"a", 12, 4}, {"c", 13, 8}, {"b", 25, 16}}
	from := func(stop int, merge func(a, b int64) int64) []string {
		var p *engine.Pipeline
		var items map[string][]byte
		var rows engine.Rows[string]
		job := func(stop int) *engine.Pipeline {
			g := engine.New(engine.Config{})
			timed := engine.EventTime(engine.From(g, engine.Slice(in)), func(e event) int64 { return e.TS }, engine.NoWatermarks())
			w := engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), window.Sliding(20*ms, 10*ms))
			n := 0
			engine.ToRows(engine.TryMap(total(w, merge), func(c engine.Context, row string) (string, error) {
				if n++; n != stop {
					return row, nil
				}
				s, err := p.Cut(c, 1)
				items, err = encodeAll(s, err)
				return row, errors.Join(err, errBoom)
			}), &rows)
			return build(t, g)
		}
		p = job(stop)
		if err := p.Run(t.Context()); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		p = job(-1)
		if err := errors.Join(p.Restore(t.Context(), items, engine.Adopt), p.Run(t.Context())); err != nil {
			t.Fatal(err)
		}
		return rows.All()
	}
	for stop := 1; stop <= 9; stop++ {
		want, got := from(stop, nil), from(stop, add)
		if d := cmp.Diff(want, got); d != "" || len(got) != 8 {
			t.Errorf("cut at row %d: %s %v", stop, d, got)
		}
	}
}

// Slices and whole windows do not read each other's state.
func TestStateOfWholeWindowsIsNotThatOfSlices(t *testing.T) {
	job := func(merge func(a, b int64) int64) *engine.Pipeline {
		g := engine.New(engine.Config{})
		var rows engine.Rows[string]
		engine.ToRows(total(windows(g, nil, window.Sliding(20*ms, 10*ms)), merge), &rows)
		return build(t, g)
	}
	s, err := job(nil).Cut(t.Context(), 1)
	items, err := encodeAll(s, err)
	if err != nil {
		t.Fatal(err)
	}
	err = job(add).Restore(t.Context(), items, engine.Adopt)
	if !errors.Is(err, state.ErrSchema) || !strings.Contains(err.Error(), "stored windows are sliding(20,10,0), now sliding(20,10,0) in slices") {
		t.Error(err)
	}
}

// Records themselves are kept window by window, in the order of their arrival.
func TestRecordsAreNotSliced(t *testing.T) {
	got := collect(t, func(g *engine.Graph) engine.Stream[string] {
		in := []event{{"k", 15, 1}, {"k", 5, 2}, {"k", 12, 3}}
		timed := engine.EventTime(engine.From(g, engine.Slice(in)), func(e event) int64 { return e.TS }, engine.Bounded(time.Second))
		w := engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), window.Sliding(20*ms, 10*ms))
		return engine.ApplyWindow(w, func(_ engine.Context, _ string, w window.Window, all []event, emit func(string)) error {
			emit(fmt.Sprint(w, all))
			return nil
		})
	})
	if want := []string{"[-10-10] [{k 5 2}]", "[0-20] [{k 15 1} {k 5 2} {k 12 3}]", "[10-30] [{k 15 1} {k 12 3}]"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}
