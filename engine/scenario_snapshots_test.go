package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// A snapshot function that fails, by an error or a panic, fails the cut or the restore and nothing else: the run goes on, and the
// next one is whole.
func TestSnapshotFunctionsMayFail(t *testing.T) {
	for how, boom := range map[string]func() error{"an error": func() error { return errBoom }, "a panic": func() error { panic(errBoom) }} {
		for _, parallelism := range []int{1, 3} {
			var failing bool
			fail := func() error {
				if failing {
					return boom()
				}
				return nil
			}
			job := func(f func(c engine.Context, v int) error) *engine.Pipeline {
				g := engine.New(engine.Config{Parallelism: parallelism})
				engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) { return []byte("bytes"), fail() }, func([]byte) error { return fail() })
				discard(engine.Sum(engine.KeyBy(engine.TryMap(six(g), func(c engine.Context, v int) (int, error) { return v, f(c, v) }), same), same))
				return build(t, g)
			}
			named := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, errBoom) || !strings.Contains(err.Error(), what+": x: ") {
					t.Errorf("%s, parallelism %d, %s: %v", how, parallelism, what, err)
				}
			}
			var p *engine.Pipeline
			p = job(func(c engine.Context, v int) error {
				if v == 3 && parallelism == 1 {
					failing = true
					_, err := p.Cut(c, 3)
					failing = false
					named("cut 3", err)
				}
				return nil
			})
			checkpoints := p.EnableCheckpoints(0)
			mustTrigger(t, checkpoints)
			failing = true
			_, err := p.Cut(t.Context(), 7)
			named("cut 7", err)
			_, err = p.Request(t.Context(), 8).Wait(t.Context())
			named("cut 8", err)
			_, err = checkpoints.Trigger(t.Context())
			named("checkpoint 2", err)
			named("restore checkpoint 1", checkpoints.Restore(t.Context(), 1))
			failing = false
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			cut := encode(t, mustCut(t, p, 9))
			second := job(func(engine.Context, int) error { return nil })
			failing = true
			named("restore", second.Restore(t.Context(), cut, engine.Adopt))
			failing = false
			if err := errors.Join(second.Restore(t.Context(), cut, engine.Adopt), second.Run(t.Context())); err != nil {
				t.Error(err)
			}
			if n, _, err := engine.Lookup[int](t.Context(), second, "store-1.sum", 6); n != 6 || err != nil {
				t.Error(n, err)
			}
		}
	}
}

// Sinks of nothing: no row, no write, no transaction; and a file, since the output of the job is complete.
func TestSinksOfNothing(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		dir := t.TempDir()
		g := engine.New(engine.Config{Parallelism: parallelism})
		s := engine.Rebalance(engine.From(g, engine.Slice[int64](nil)))
		var rows engine.Rows[int64]
		engine.ToRows(s, &rows)
		engine.ForEach(s, func(engine.Context, int64) error { return errBoom })
		engine.ToFile(s, filepath.Join(dir, "file"), formatNumber)
		engine.ToWriter(s, writerFunc(func([]byte) (int, error) { return 0, errBoom }))
		engine.ToTwoPhase(s, txnFiles(dir, 0))
		feed := engine.ToFeed(s)
		p := build(t, g)
		for v, err := range feed.Run(t.Context(), p) {
			t.Error(v, err)
		}
		if err := p.Finish(t.Context()); err != nil || rows.Len() > 0 || committedText(t, dir) != "" {
			t.Error(err, rows.All(), committedText(t, dir))
		}
		if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Size() != 0 {
			t.Error(info, err)
		}
		if got := p.Progress(); got.RecordsIn != 0 || got.RecordsOut != 0 || len(got.Sources) != 1 || !got.Sources[0].Done {
			t.Errorf("%+v", got)
		}
	}
}
