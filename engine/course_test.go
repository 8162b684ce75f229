package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// course is a generated pipeline with exchanges. Its rows are "operator:key|…": those of one operator and key are in the same
// order at any parallelism; those without "|" may come in any.
//
// What depends on timing with several subtasks by nature is left out, so that rows can be compared:
//   - Which records are late behind a second exchange depends on how far each of its senders is. So windows there only get
//     records that are on time, and no trigger that counts.
//   - Records of a key keep their order if they come from one subtask. So the key of a second exchange tells the key of the
//     first, or what follows does not mind the order.
//   - Several watermarks may come as one, so a timer's function does not ask how far event time is.
type course struct {
	plan
	timed  bool // else timers go by the records
	loaded bool // records have a slice, so what is under way is encoded within the cut
	first  string
	second string
	union  string
	deal   bool // records are dealt out before the sink, which loses all order
	ttl    time.Duration
}

func drawCourse(t *rapid.T) course {
	c := course{
		plan: drawPlan(t), timed: rapid.Bool().Draw(t, "timed"), loaded: rapid.Bool().Draw(t, "loaded"),
		first:  rapid.SampledFrom([]string{"states", "states", "windows", "running"}).Draw(t, "first"),
		second: rapid.SampledFrom([]string{"", "finer", "windows"}).Draw(t, "second"),
		union:  rapid.SampledFrom([]string{"", "before", "behind", "sources"}).Draw(t, "union"),
		deal:   rapid.IntRange(0, 4).Draw(t, "deal") == 0,
		ttl:    time.Duration(rapid.Int64Range(1, 60).Draw(t, "ttl")) * ms,
	}
	c.groups = rapid.IntRange(4, 12).Draw(t, "groups")
	if c.second == "windows" || c.union == "sources" {
		c.first = "running"
		c.disorder = 400 * ms // on time
	}
	if c.union == "sources" { // which are not in step: records of one are late for the other
		c.loaded = false
		c.second = strings.TrimSuffix(c.second, "windows")
	}
	return c
}

// laden is an event that is not flat.
type laden struct {
	event
	More []int64
}

// graph is the pipeline of a course.
func (c course) graph(parallelism int, h hooks, sink, strays func(engine.Stream[string])) *engine.Graph {
	g := engine.New(engine.Config{MaxParallelism: c.groups, Queue: c.queue, Parallelism: parallelism})
	src := engine.From(g, watched{c.in, h.before})
	if c.union == "sources" { // with keys of its own: one subtask sends each key
		other := slices.Clone(c.in)
		for i := range other {
			other[i].Key += "'"
		}
		src = engine.Union(src, engine.From(g, watched{other, calm().before}))
	}
	several := engine.FlatMap(src, func(e event, emit func(event)) {
		emit(e)
		if e.N > 3 {
			emit(event{e.Key, e.TS + 1, -e.N})
		}
	})
	kept := engine.Filter(several, func(e event) bool { return e.N >= c.threshold })
	s := engine.TryMap(kept, func(_ engine.Context, e event) (event, error) { return e, h.early(e) })
	if c.timed || c.first == "windows" || c.second == "windows" {
		s = engine.EventTime(s, func(e event) int64 { return e.TS }, engine.Bounded(c.disorder))
	}
	rows := c.firstOf(c.keyed(s), strays)
	switch c.second {
	case "finer":
		rows = finer(rows)
	case "windows":
		rows = engine.Union(rows, c.coarse(s))
	}
	switch c.union {
	case "before":
		rows = engine.Union(rows, engine.Map(s, func(e event) string { return fmt.Sprint("before:", e.Key, "|", e) }))
	case "behind":
		count := engine.Count(engine.KeyBy(s, func(e event) int64 { return e.N }))
		rows = engine.Union(engine.Map(count, func(n int64) string { return fmt.Sprint("count ", n) }), rows)
	}
	if c.deal {
		rows = engine.Map(engine.Rebalance(rows), func(s string) string { return strings.ReplaceAll(s, "|", " ") })
	}
	sink(engine.TryMap(rows, func(_ engine.Context, row string) (string, error) { return row, h.late(row) }))
	return g
}

// keyed moves the records to the subtask that has their key, as they are or with a slice.
func (c course) keyed(s engine.Stream[event]) engine.KeyedStream[string, event] {
	if !c.loaded {
		return engine.KeyBy(s, func(e event) string { return e.Key })
	}
	full := engine.Map(s, func(e event) laden { return laden{event{"", e.TS, e.N}, []int64{int64(len(e.Key)), e.N}} })
	byN := engine.Map(full, func(l laden) laden { l.Key = fmt.Sprint("n", l.N%3); return l })
	return engine.MapKeyed(engine.KeyBy(byN, func(l laden) string { return l.Key }), func(key string, l laden) event {
		return event{key, l.TS, l.More[1]}
	})
}

// firstOf is what comes behind the first exchange.
func (c course) firstOf(k engine.KeyedStream[string, event], strays func(engine.Stream[string])) engine.Stream[string] {
	switch c.first {
	case "windows":
		late := engine.NewSideOutput[event]("late")
		rows := engine.ApplyWindow(c.windows(k).WithLateOutput(late),
			func(_ engine.Context, k string, w window.Window, all []event, emit func(string)) error {
				emit(fmt.Sprintf("window:%s|%v", k, w))
				emit(fmt.Sprintf("window:%s|%v", k, all))
				return nil
			})
		strays(engine.Map(engine.Side(rows, late), func(e event) string { return fmt.Sprint("late:", e.Key, "|", e) }))
		return rows
	case "running":
		least := engine.Min(k, func(e event) int64 { return e.N })
		most := engine.Max(k, func(e event) int64 { return e.N })
		sum := engine.Sum(k, func(e event) int64 { return e.N })
		folded := engine.Reduce(k, func(a, b event) event { return event{a.Key, b.TS, a.N*3 + b.N} })
		number := func(n int64) string { return fmt.Sprint("number ", n) }
		strays(engine.Union(engine.Map(least, number), engine.Map(most, number), engine.Map(sum, number)))
		return engine.Map(folded, func(e event) string { return fmt.Sprint("reduce:", e.Key, "|", e) })
	default:
		seen := engine.NewSideOutput[string]("seen")
		rows := c.states(k, seen)
		strays(engine.Side(rows, seen))
		return rows
	}
}

// finer counts behind a second exchange, by a key that tells the first.
func finer(rows engine.Stream[string]) engine.Stream[string] {
	k := engine.KeyBy(rows, func(row string) string { return row[:strings.IndexByte(row, '|')] + fmt.Sprint(len(row)%2) })
	return engine.Process(k, func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, string] {
		n := engine.ValueOf[int](op, "n")
		return func(_ engine.Context, key, row string, emit func(string)) error {
			n.Put(n.Get() + 1)
			emit(fmt.Sprint("finer:", key, "|", n.Get(), " ", row[strings.IndexByte(row, '|'):]))
			return nil
		}
	})
}

// coarse counts in windows behind a second exchange, whose keys come from several subtasks.
func (c course) coarse(s engine.Stream[event]) engine.Stream[string] {
	folded := engine.Reduce(c.keyed(s), func(a, b event) event { return event{a.Key, b.TS, b.N} })
	w := engine.Window(engine.KeyBy(folded, func(e event) int64 { return e.N % 2 }), window.Sliding(c.size, c.size/2+ms))
	return engine.Map(engine.CountWindow(w), func(r engine.Result[int64, int64]) string {
		return fmt.Sprint("coarse:", r.Key, " ", r.Window, "|", r.Value)
	})
}

// states uses every kind of state, and timers of both domains that records put off and timers set anew.
func (c course) states(k engine.KeyedStream[string, event], seen *engine.SideOutput[string]) engine.Stream[string] {
	return engine.Process(k, func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, string] {
		last, list, byN := engine.ValueOf[int64](op, "last"), engine.ListOf[int64](op, "list"), engine.MapOf[int64, []int64](op, "by-n")
		low := engine.ReducingOf(op, "low", func(a, b int64) int64 { return min(a, b) })
		mean := engine.AggregatingOf(op, "mean", engine.Aggregation[int64, [2]int64, string]{
			Add:    func(acc [2]int64, n int64) [2]int64 { return [2]int64{acc[0] + n, acc[1] + 1} },
			Result: func(acc [2]int64) string { return fmt.Sprint(acc[0], "/", acc[1]) },
		})
		young := engine.Declare(op, engine.Descriptor[int64]{Name: "young", TTL: engine.TTL{After: c.ttl, Domain: engine.InEventTime}})
		aside, timers := engine.OutputTo(op, seen), op.Timers()
		engine.OnTimer(op, func(_ engine.Context, t engine.Timer[string], emit func(string)) error {
			emit(fmt.Sprint("timer:", t.Key, "|", t.Domain, " ", t.Time, " ", last.Get(), list.Get()))
			if list.Len() > 1 && t.Domain == engine.InEventTime {
				list.Update(list.Get()[1:])
				timers.RegisterEventTime(t.Time + 13)
			}
			if t.Domain == engine.InProcessingTime && t.Time%2 == 0 {
				timers.RegisterProcessingTime(t.Time + 7)
			}
			return nil
		})
		return func(_ engine.Context, key string, e event, emit func(string)) error {
			if e.N%2 == 0 {
				timers.DeleteEventTime(last.Get())
			}
			last.Put(e.TS + 30)
			timers.RegisterEventTime(e.TS + 30)
			timers.RegisterProcessingTime(e.TS + 45)
			if list.Add(e.N); list.Len() > 5 {
				list.Clear()
			}
			of, _ := byN.Get(e.N)
			byN.Put(e.N, append(slices.Clone(of), e.TS))
			low.Add(e.N)
			mean.Add(e.N)
			least, _ := low.Get()
			average, _ := mean.Get()
			old := young.Get()
			young.Put(e.N)
			aside(fmt.Sprint("seen:", key, "|", old, e, timers.EventTime()))
			emit(fmt.Sprint("states:", key, "|", e, list.Get(), len(of), least, average))
			return nil
		}
	})
}

// attempts runs a course through all attempts; each restores the newest completed cut, at a parallelism of its own. The last
// one commits.
func (c course) attempts(ctx context.Context, d disturbance, parallelism []int, mode engine.RestoreMode, sink, strays func(engine.Stream[string])) error {
	var newest map[string][]byte
	for attempt := 0; ; attempt++ {
		r := &attempting{d: d, attempt: attempt}
		p, err := c.graph(parallelism[attempt%len(parallelism)], r.hooks(ctx), sink, strays).Build()
		if err != nil {
			return err
		}
		r.pipeline = p
		if newest != nil {
			err = p.Restore(ctx, newest, mode)
		} else {
			err = resetRows(ctx, p)
		}
		if err != nil {
			return err
		}
		again, err := r.run(ctx)
		if r.last != nil {
			// Encoding only now, when the pipeline has gone on, shows whether the cut was deep.
			if newest, err = encodeAll(r.last, err); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if !again {
			return p.Finish(ctx)
		}
	}
}
