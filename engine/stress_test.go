package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/state"
)

// touching is a function of a record that the pipeline under test calls.
type touching func(c engine.Context, v int) error

func untouchedInt(engine.Context, int) error { return nil }

// spread counts the records of 8 keys twice in "store-2.a" and "store-2.b", and those of 5 keys in "store-1.n" behind a second
// exchange, before they come to a sink.
func spread(cfg engine.Config, src engine.Source[int], first, second, sink touching) *engine.Graph {
	g := engine.New(cfg)
	counted := engine.Process(engine.KeyBy(engine.From(g, src), func(v int) int { return v % 8 }),
		func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
			a, b := engine.ValueOf[int](op, "a"), engine.ValueOf[int](op, "b")
			return func(c engine.Context, _, v int, emit func(int)) error {
				a.Put(a.Get() + 1)
				if err := first(c, v); err != nil {
					return err
				}
				b.Put(b.Get() + 1)
				emit(v)
				return nil
			}
		})
	again := engine.Process(engine.KeyBy(counted, func(v int) int { return v % 5 }),
		func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
			n := engine.ValueOf[int](op, "n")
			return func(c engine.Context, _, v int, emit func(int)) error {
				n.Put(n.Get() + 1)
				emit(v)
				return second(c, v)
			}
		})
	engine.ForEach(again, sink)
	return g
}

func upTo(n int) engine.Source[int] {
	in := make([]int, n)
	for i := range in {
		in[i] = i
	}
	return engine.Slice(in)
}

// travelling is what the item of an exchange has of each record under way, and of each signal.
type travelling struct {
	Kind               uint8
	Source             uint16
	TS, Record, Offset int64
	Key, Value         int
}

// underWay reads the item of an exchange, as the format says, and counts the records by modulus of their values.
func underWay(t *testing.T, item []byte, modulus int) map[int]int {
	t.Helper()
	uvarint := func() (v uint64) {
		v, n := binary.Uvarint(item)
		item = item[n:]
		return v
	}
	merge := func() {
		uvarint() // a signed varint is as long
		item = item[1:]
	}
	item = item[2:]
	senders, receivers := uvarint(), uvarint()
	for range receivers {
		merge()
		for range uvarint() {
			merge()
		}
	}
	codec, err := state.CodecOf[travelling]()
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[int]int)
	for range senders * receivers {
		for range uvarint() {
			var e travelling
			if item, err = codec.Decode(item, &e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == 0 {
				counts[e.Value%modulus]++
			}
		}
	}
	if len(item) > 0 {
		t.Fatalf("%d bytes left", len(item))
	}
	return counts
}

// mirrored gives the mirror of a cut: position of the source, and by the name of a store, the values of its keys.
func mirrored(t *testing.T, p *engine.Pipeline, cut map[string][]byte) (read int, stores map[string]map[int]int) {
	t.Helper()
	if err := p.Restore(t.Context(), cut, engine.Fresh); err != nil {
		t.Fatal(err)
	}
	stores = make(map[string]map[int]int)
	scan := func(s, format string, v ...any) {
		if _, err := fmt.Sscanf(s, format, v...); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	}
	for e := range p.Mirror() {
		name, _, _ := strings.Cut(e.Item, "/")
		switch {
		case name == "source-1":
			scan(e.Content, "records %d", &read)
		case strings.HasPrefix(name, "store"):
			var k, v int
			scan(e.Key+" "+e.Content, "%d %d", &k, &v)
			if stores[name] == nil {
				stores[name] = make(map[int]int)
			}
			stores[name][k] = v
		}
	}
	return read, stores
}

// plus adds up two counts by key.
func plus(a, b map[int]int) map[int]int {
	sum := make(map[int]int)
	for _, m := range []map[int]int{a, b} {
		for k, n := range m {
			sum[k] += n
		}
	}
	return sum
}

// conserved checks a cut: what the source has given has been counted or is under way, by key, at either exchange.
func conserved(t *testing.T, mirror *engine.Pipeline, cut map[string][]byte) (between int) {
	t.Helper()
	read, stores := mirrored(t, mirror, cut)
	if d := cmp.Diff(stores["store-2.a"], stores["store-2.b"]); d != "" {
		t.Fatal("two stores that are written in one record:", d)
	}
	given := make(map[int]int)
	for v := range read {
		given[v%8]++
	}
	first, second := underWay(t, cut["exchange-2"], 8), underWay(t, cut["exchange-1"], 5)
	if d := cmp.Diff(given, plus(stores["store-2.a"], first)); d != "" {
		t.Fatalf("read %d, under way %v: %s", read, first, d)
	}
	// Behind the second exchange the keys are others: what has been counted in front of it is there or under way.
	total := func(m map[int]int) (n int) {
		for _, k := range m {
			n += k
		}
		return n
	}
	if have, want := total(stores["store-1.n"])+total(second), total(stores["store-2.a"]); have != want {
		t.Fatalf("counted %d, of which %d came to the second exchange", want, have)
	}
	return total(first) + total(second)
}

// Cuts as fast as they go, while four subtasks exchange under back-pressure: nothing is lost or doubled in any of them, and a
// run that goes on from one ends with everything counted once.
func TestEveryCutConservesTheRecords(t *testing.T) {
	const n = 4000
	for _, queue := range []int{1, 32} {
		cfg := engine.Config{Parallelism: 4, Queue: queue, MaxParallelism: 16}
		var out atomic.Int64
		slow := func(engine.Context, int) error {
			for range 20 {
				runtime.Gosched()
			}
			out.Add(1)
			return nil
		}
		graph := func() *engine.Pipeline { return build(t, spread(cfg, upTo(n), untouchedInt, untouchedInt, slow)) }
		p, mirror := graph(), graph()
		ended := make(chan error, 1) // from the run, once
		go func() { ended <- p.Run(t.Context()) }()
		cuts, most := 0, 0
		for running := true; running; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
			most = max(most, conserved(t, mirror, encode(t, mustCut(t, p, int64(cuts)))))
			cuts++
		}
		if cuts < 10 || most < 4 || out.Load() != n {
			t.Errorf("queue %d: %d cuts, at most %d records under way, %d came out", queue, cuts, most, out.Load())
		}
	}
}

// The same while the run is killed in turn, and goes on with other numbers of subtasks.
func TestConservationOverRestores(t *testing.T) {
	const n = 1500
	var cut map[string][]byte
	for attempt, parallelism := range []int{3, 2, 4, 1, 4, 4, 2} {
		last := attempt == 6
		cfg := engine.Config{Parallelism: parallelism, Queue: 2, MaxParallelism: 8}
		graph := func() *engine.Pipeline {
			return build(t, spread(cfg, upTo(n), func(_ engine.Context, v int) error {
				if !last && v == (attempt+1)*200 {
					return errBoom
				}
				return nil
			}, untouchedInt, untouchedInt))
		}
		p := graph()
		if cut != nil {
			if err := p.Restore(t.Context(), cut, engine.Adopt); err != nil {
				t.Fatal(err)
			}
		}
		if !last {
			cut = until(t, p)
			if parallelism > 1 {
				conserved(t, graph(), cut)
			}
			continue
		}
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, stores := mirrored(t, graph(), encode(t, mustCut(t, p, 1)))
		for name, count := range map[string]int{"store-2.a": 8, "store-2.b": 8, "store-1.n": 5} {
			want := make(map[int]int)
			for v := range n {
				want[v%count]++
			}
			if d := cmp.Diff(want, stores[name]); d != "" {
				t.Error(name, d)
			}
		}
	}
}

// A function that ends its goroutine ends the run, and names itself.
func TestGoexitEndsTheRun(t *testing.T) {
	p := build(t, spread(engine.Config{Parallelism: 3}, upTo(1000), untouchedInt, func(_ engine.Context, v int) error {
		if v == 500 {
			runtime.Goexit()
		}
		return nil
	}, untouchedInt))
	var failed *engine.OperatorError
	if err := p.Run(context.WithoutCancel(t.Context())); !errors.As(err, &failed) || failed.Operator != "process-2" {
		t.Error(err)
	}
	if _, err := p.Cut(t.Context(), 1); !errors.Is(err, engine.ErrFailed) {
		t.Error(err)
	}
}
