package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

func TestChanEndsWhenTheChannelIsClosed(t *testing.T) {
	ch := make(chan string, 3)
	ch <- "a"
	ch <- ""
	ch <- "b"
	close(ch)
	got := collect(t, func(g *engine.Graph) engine.Stream[string] { return engine.From(g, engine.Chan(ch)) })
	if d := cmp.Diff([]string{"a", "", "b"}, got); d != "" {
		t.Error(d)
	}
	empty := make(chan string)
	close(empty)
	if got := collect(t, func(g *engine.Graph) engine.Stream[string] { return engine.From(g, engine.Chan(empty)) }); got != nil {
		t.Error(got)
	}
}

// A record is seen although nothing follows it, and the end of the run does not wait for the channel.
func TestChanNeitherHidesRecordsNorHoldsUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ch, seen := make(chan int), make(chan int)
		g := engine.New(engine.Config{})
		engine.ForEach(engine.From(g, engine.Chan(ch)), func(_ engine.Context, v int) error { seen <- v; return nil })
		p, ended := build(t, g), make(chan error)
		go func() { ended <- p.Run(ctx) }()
		for i := range 3 {
			ch <- i
			if got := <-seen; got != i {
				t.Error(got)
			}
			synctest.Wait()
		}
		cancel(errBoom)
		if err := <-ended; !errors.Is(err, errBoom) {
			t.Error(err)
		}
		select {
		case ch <- 9:
			t.Error("received after the end of the run")
		default:
		}
	})
}

// What the channel holds beyond the queue stays in it.
func TestChanIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int, 100)
		for i := range 100 {
			ch <- i
		}
		blocked, release := make(chan struct{}), make(chan struct{})
		g := engine.New(engine.Config{Queue: 8})
		engine.ForEach(engine.From(g, engine.Chan(ch)), func(engine.Context, int) error {
			close(blocked)
			<-release
			return errBoom
		})
		p, ended := build(t, g), make(chan error)
		go func() { ended <- p.Run(t.Context()) }()
		<-blocked
		synctest.Wait()
		if left := len(ch); left != 100-8-1 {
			t.Errorf("%d left in the channel", left)
		}
		close(release)
		if err := <-ended; !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
}

func TestGenerate(t *testing.T) {
	square := func(i int64) int64 { return i * i }
	for n, want := range map[int64][]int64{0: nil, 1: {0}, 5: {0, 1, 4, 9, 16}} {
		got := collect(t, func(g *engine.Graph) engine.Stream[int64] { return engine.From(g, engine.Generate(n, square)) })
		if d := cmp.Diff(want, got); d != "" {
			t.Error(n, d)
		}
	}
	_, err := tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[int64] {
		return engine.From(g, engine.Generate(3, func(i int64) int64 { return 6 / (2 - i) }))
	})
	if want := "source-1: source execution failed at record 3 of source-1 (offset 2): panic: runtime error: integer divide by zero"; err == nil || placeless(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// An endless generator runs until the run ends; another run goes on behind the cut, and no record is missing or doubled.
func TestGenerateGoesOnBehindACut(t *testing.T) {
	var rows engine.Rows[int64]
	job := func(n int64, check func(v int64) error) *engine.Pipeline {
		g := engine.New(engine.Config{})
		s := engine.From(g, engine.Generate(n, func(i int64) int64 { return i }))
		engine.ToRows(s, &rows)
		engine.ForEach(s, func(_ engine.Context, v int64) error { return check(v) })
		return build(t, g)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	first := job(engine.Endless, func(v int64) error {
		if v == 100 {
			cancel(errBoom)
		}
		return nil
	})
	if err := first.Run(ctx); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	second := job(1000, func(int64) error { return nil })
	cut := encode(t, mustCut(t, first, 1))
	if err := errors.Join(second.Restore(t.Context(), cut, engine.Adopt), second.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	for i, v := range rows.All() {
		if v != int64(i) {
			t.Fatalf("row %d is %d", i, v)
		}
	}
	if rows.Len() != 1000 {
		t.Error(rows.Len())
	}
	third := job(10, func(int64) error { return nil })
	if err := errors.Join(third.Restore(t.Context(), cut, engine.Adopt), third.Run(t.Context())); !errors.Is(err, engine.ErrInvalid) {
		t.Error("a shorter generator:", err)
	}
}

func TestMistakesWithSourcesAreReportedWhenTheGraphIsBuilt(t *testing.T) {
	one := func(int64) int { return 1 }
	for name, src := range map[string]struct {
		engine.Source[int]
		want error
	}{
		"a nil channel":               {engine.Chan[int](nil), engine.ErrNil},
		"a nil generator":             {engine.Generate[int](1, nil), engine.ErrNil},
		"a throttled nil":             {engine.Throttle[int](nil, 1), engine.ErrNil},
		"a negative number":           {engine.Generate(-1, one), engine.ErrInvalid},
		"a negative number throttled": {engine.Throttle(engine.Generate(-1, one), 5), engine.ErrInvalid},
		"no path, throttled twice":    {engine.Throttle(engine.Throttle[int](engine.JSONLines[int]{}, 5), 6), engine.ErrInvalid},
	} {
		g := engine.New(engine.Config{})
		var rows engine.Rows[int]
		engine.ToRows(engine.From(g, src.Source), &rows)
		if _, err := g.Build(); !errors.Is(err, src.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// arrivals runs a source in virtual time and says when each record comes, in milliseconds.
func arrivals(t *testing.T, src engine.Source[int64], sink func(v int64)) (at []int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		g := engine.New(engine.Config{Queue: 1})
		engine.ForEach(engine.From(g, src), func(_ engine.Context, v int64) error {
			at = append(at, time.Since(start).Milliseconds())
			sink(v)
			return nil
		})
		if err := build(t, g).Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return at
}

func TestThrottleHoldsTheRate(t *testing.T) {
	numbers := func(n int64) engine.Source[int64] { return engine.Generate(n, func(i int64) int64 { return i }) }
	quick := func(int64) {}
	for _, c := range []struct {
		name string
		src  engine.Source[int64]
		want []int64
	}{
		{"evenly spaced", engine.Throttle(numbers(5), 10), []int64{0, 100, 200, 300, 400}},
		{"less than one a second", engine.Throttle(numbers(3), 0.1), []int64{0, 10_000, 20_000}},
		{"the lower of two limits, inside", engine.Throttle(engine.Throttle(numbers(3), 2), 1000), []int64{0, 500, 1000}},
		{"the lower of two limits, outside", engine.Throttle(engine.Throttle(numbers(3), 1000), 2), []int64{0, 500, 1000}},
		{"zero is no limit", engine.Throttle(numbers(3), 0), []int64{0, 0, 0}},
		{"negative is no limit", engine.Throttle(numbers(3), -1), []int64{0, 0, 0}},
		{"not a number is no limit", engine.Throttle(numbers(3), math.NaN()), []int64{0, 0, 0}},
		{"infinite is no limit", engine.Throttle(numbers(3), math.Inf(1)), []int64{0, 0, 0}},
	} {
		if d := cmp.Diff(c.want, arrivals(t, c.src, quick)); d != "" {
			t.Error(c.name, d)
		}
	}
	if at := arrivals(t, engine.Throttle(numbers(100_001), 10_000), quick); at[100_000] != 10_000 {
		t.Errorf("record 100000 at a rate of 10000 comes after %d ms", at[100_000])
	}
}

// What back-pressure of up to a second held back comes at once; after a minute it is a second's worth, not a minute's.
func TestThrottleCatchesUpASecond(t *testing.T) {
	for pause, caughtUp := range map[time.Duration]int{800 * ms: 8, time.Minute: 10} {
		src := engine.Throttle(engine.Generate(100, func(i int64) int64 { return i }), 10)
		at := arrivals(t, src, func(v int64) {
			if v == 5 {
				time.Sleep(pause)
			}
		})
		woken := at[6]
		n := 0
		for _, ms := range at[6:] {
			if ms == woken {
				n++
			}
		}
		// Up to two more were collected before the pause: one lies in the queue, one is in the source's hand.
		if n < caughtUp || n > caughtUp+2 {
			t.Errorf("%d records at once after %v", n, pause)
		}
		if gap := at[99] - at[98]; gap != 100 {
			t.Errorf("afterwards a record each %d ms", gap)
		}
	}
}

func TestThrottleEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Second, errBoom)
		defer cancel()
		start := time.Now()
		g := engine.New(engine.Config{})
		var rows engine.Rows[int]
		engine.ToRows(engine.From(g, engine.Throttle(engine.Slice([]int{1, 2, 3}), 1.0/3600)), &rows)
		if err := build(t, g).Run(ctx); !errors.Is(err, errBoom) || time.Since(start) != 90*time.Second || rows.Len() != 1 {
			t.Error(err, time.Since(start), rows.All())
		}
	})
}

// The lines that a pipe has given are processed while the next read waits.
func TestJSONLinesFromAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes:", err)
	}
	seen := make(chan int)
	g := engine.New(engine.Config{})
	engine.ForEach(engine.From(g, engine.JSONLines[int]{Path: path}), func(_ engine.Context, v int) error { seen <- v; return nil })
	p, ended := build(t, g), make(chan error, 1)
	go func() { ended <- p.Run(t.Context()) }()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := fmt.Fprintf(f, "%d\n%d\n", 2*i, 2*i+1); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{2 * i, 2*i + 1} {
			select {
			case got := <-seen:
				if got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			case err := <-ended:
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(f.Close(), <-ended); err != nil {
		t.Error(err)
	}
}
