package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
)

// attempting is one attempt of a disturbed run: functions of several subtasks may call its hooks at once.
type attempting struct {
	d        disturbance
	attempt  int
	pipeline *engine.Pipeline
	calls    atomic.Int64

	mu   sync.Mutex
	last *engine.Snapshot // the newest that completes
	err  error            // of a cut
}

func (r *attempting) hooks(ctx context.Context) hooks {
	h := calm()
	h.before = func(run context.Context, i int64) {
		for !r.d.behind && r.d.cutAt[i] && r.pipeline.Progress().RecordsIn < i && run.Err() == nil {
			runtime.Gosched() // until the pipeline has caught up
		}
		if r.d.cutAt[i] {
			r.cut(ctx, i)
		}
	}
	die := func() error {
		if n := r.calls.Add(1); r.attempt < len(r.d.crashes) && n == int64(r.d.crashes[r.attempt]) {
			return errBoom
		}
		return nil
	}
	if r.d.late {
		h.late = func(string) error { return die() }
	} else {
		h.early = func(event) error { return die() }
	}
	return h
}

// cut takes one, which may be lost.
func (r *attempting) cut(ctx context.Context, id int64) {
	s, err := r.pipeline.Cut(ctx, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, engine.ErrFailed):
	case err != nil:
		r.err = errors.Join(r.err, err)
	case !r.d.lost[id]:
		r.last = s
	}
}

// run runs the attempt, and says whether it has died as it was to. With d.behind, cuts are also taken all the time.
func (r *attempting) run(ctx context.Context) (again bool, err error) {
	var cutting sync.WaitGroup
	ended := make(chan struct{}) // closed when the run has
	if r.d.behind {
		cutting.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					r.cut(ctx, -1)
				}
			}
		})
	}
	err = r.pipeline.Run(ctx)
	close(ended)
	cutting.Wait()
	if r.err != nil {
		return false, errors.Join(r.err, err)
	}
	if errors.Is(err, errBoom) {
		return true, nil
	}
	return false, err
}

// byKey are the rows of each operator and key, in order; under "" those that have no order, sorted.
func byKey(rows []string) map[string][]string {
	m := make(map[string][]string)
	for _, row := range rows {
		key, _, found := strings.Cut(row, "|")
		if !found {
			key = ""
		}
		m[key] = append(m[key], row)
	}
	slices.Sort(m[""])
	return m
}

// Whatever is cut, whenever it dies, and with however many subtasks it goes on: the rows are those of an uninterrupted run of
// one subtask, each once, and in order by key; and so is the file.
func TestAnyParallelismEqualsTheUninterruptedRun(t *testing.T) {
	dir := t.TempDir()
	n := 0
	covered := make(map[string]int)
	rapid.Check(t, func(rt *rapid.T) {
		n++
		c := drawCourse(rt)
		d := drawDisturbance(rt, len(c.in))
		parallelism := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(rt, "parallelism")
		mode := rapid.SampledFrom([]engine.RestoreMode{engine.Adopt, engine.Adopt, engine.Fresh}).Draw(rt, "mode")
		run := func(name string, d disturbance, parallelism []int) (all, file []string) {
			var rows, beside engine.Rows[string]
			path := filepath.Join(dir, fmt.Sprint(name, n))
			sink := func(s engine.Stream[string]) {
				engine.ToRows(s, &rows)
				engine.ToFile(s, path, func(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil })
			}
			if err := c.attempts(t.Context(), d, parallelism, mode, sink, func(s engine.Stream[string]) { engine.ToRows(s, &beside) }); err != nil {
				rt.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			return slices.Concat(rows.All(), beside.All()), strings.Split(string(b), "\n")
		}
		want, wantFile := run("want-", disturbance{}, []int{1})
		got, gotFile := run("got-", d, parallelism)
		for _, what := range []struct{ want, got []string }{{want, got}, {wantFile, gotFile}} {
			if slices.Max(parallelism) == 1 && c.union != "sources" {
				if diff := cmp.Diff(what.want, what.got); diff != "" {
					rt.Fatal(diff)
				}
			}
			if diff := cmp.Diff(byKey(what.want), byKey(what.got)); diff != "" {
				rt.Fatal(diff)
			}
		}
		for _, row := range want {
			kind, _, _ := strings.Cut(row, ":")
			covered[strings.Fields(kind)[0]]++
		}
	})
	for _, kind := range []string{"states", "timer", "seen", "window", "reduce", "number", "finer", "coarse", "before", "count"} {
		if covered[kind] == 0 {
			t.Errorf("no row of %q, only %v", kind, slices.Sorted(maps.Keys(covered)))
		}
	}
}
