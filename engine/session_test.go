package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// What sessions and sliding windows come to, when nothing is late, does not depend on the order of the records. So a plain
// program can sort them.
func TestWindowsAgreeWithAPlainProgram(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		gap, slide := p.size.Milliseconds(), rapid.Int64Range(1, 60).Draw(rt, "slide")
		all := slices.Clone(p.in)
		slices.SortStableFunc(all, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.TS, b.TS))
		})
		var sessions, sliding []string
		for i := 0; i < len(all); {
			end := i + 1
			for end < len(all) && all[end].Key == all[i].Key && all[end].TS-all[end-1].TS < gap {
				end++
			}
			sessions = append(sessions, fmt.Sprintf("%s[%d-%d]=%d", all[i].Key, all[i].TS, all[end-1].TS+gap, end-i))
			i = end
		}
		counts := map[string]int{}
		for _, e := range all {
			for start := int64(-2400); start <= 2400; start++ {
				if start%slide == 0 && start <= e.TS && e.TS < start+gap {
					counts[fmt.Sprintf("%s[%d-%d]", e.Key, start, start+gap)]++
				}
			}
		}
		for w, n := range counts {
			sliding = append(sliding, fmt.Sprintf("%s=%d", w, n))
		}
		run := func(a window.Assigner) []string {
			g := engine.New(engine.Config{MaxParallelism: p.groups})
			timed := engine.EventTime(engine.From(g, watched{p.in, calm().before}), nil, engine.NoWatermarks())
			var rows engine.Rows[string]
			engine.ToRows(engine.Map(engine.CountWindow(engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), a)), func(r engine.Result[string, int64]) string {
				return fmt.Sprintf("%s%v=%d", r.Key, r.Window, r.Value)
			}), &rows)
			if err := build(rt, g).Run(t.Context()); err != nil {
				rt.Fatal(err)
			}
			return sorted(rows.All())
		}
		if d := gocmp.Diff(sorted(sessions), run(window.Session(p.size))); d != "" {
			rt.Fatal("sessions", d)
		}
		if d := gocmp.Diff(sorted(sliding), run(window.Sliding(p.size, time.Duration(slide)*ms))); d != "" {
			rt.Fatal("sliding", d)
		}
	})
}

// The windows agree with a plain loop over the records.
func TestWindowsAgreeWithAPlainLoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		g := engine.New(engine.Config{MaxParallelism: p.groups})
		timed := engine.EventTime(engine.From(g, engine.Slice(p.in)), func(e event) int64 { return e.TS }, engine.Bounded(p.disorder))
		var rows engine.Rows[engine.Result[string, int64]]
		assigner := window.Tumbling(p.size).WithOffset(p.offset)
		engine.ToRows(engine.CountWindow(engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), assigner)), &rows)
		pl := build(rt, g)
		if err := pl.Run(t.Context()); err != nil {
			rt.Fatal(err)
		}
		type cell struct {
			key   string
			start int64
		}
		want, got, late := map[cell]int64{}, map[cell]int64{}, int64(0)
		top, some := int64(0), false
		for _, e := range p.in {
			w := assigner.Assign(e.TS)
			if some && w.End-1 <= top-p.disorder.Milliseconds()-1 {
				late++
			} else {
				want[cell{e.Key, w.Start}]++
			}
			if !some || e.TS > top {
				top, some = e.TS, true
			}
		}
		for _, r := range rows.All() {
			if _, twice := got[cell{r.Key, r.Window.Start}]; twice {
				rt.Fatal("emitted twice", r)
			}
			got[cell{r.Key, r.Window.Start}] = r.Value
		}
		if d := gocmp.Diff(want, got, gocmp.AllowUnexported(cell{})); d != "" {
			rt.Fatal(d)
		}
		if pl.Progress().LateDropped != late {
			rt.Fatalf("%d late, want %d", pl.Progress().LateDropped, late)
		}
	})
}
