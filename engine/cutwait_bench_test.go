package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

// scattered is an endless source of keys: first each once, in order, then at random.
type scattered uint64

func (scattered) Seekable() bool { return false }

func (n scattered) Run(_ context.Context, c *engine.Collector[int64]) error {
	for i, x := uint64(0), uint64(88172645463325252); ; i++ {
		key := i
		if i >= uint64(n) {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			key = x % uint64(n)
		}
		if err := c.Collect(int64(key)); err != nil {
			return err
		}
	}
}

// probe notices how long the records of a run are apart. Who waits for it does not spin: that would take the run's place on a
// processor.
type probe struct {
	last    time.Time // the pipeline's own
	longest atomic.Int64
	left    atomic.Int64  // how many records reached waits for
	reached chan struct{} // one place: sent once for each wait
}

func newProbe() *probe { return &probe{reached: make(chan struct{}, 1)} }

func (p *probe) record() {
	now := time.Now()
	if gap := int64(now.Sub(p.last)); gap > p.longest.Load() {
		p.longest.Store(gap)
	}
	p.last = now
	if p.left.Load() > 0 && p.left.Add(-1) == 0 {
		p.reached <- struct{}{}
	}
}

// during calls f, waits for n records after it, and gives the longest time between two records meanwhile.
func (p *probe) during(f func(), n int64) time.Duration {
	p.wait(100) // out of the caller's own wake-up
	p.longest.Store(0)
	f()
	p.wait(n)
	return time.Duration(p.longest.Load())
}

// wait returns after n records more.
func (p *probe) wait(n int64) {
	p.left.Store(n)
	<-p.reached
}

// BenchmarkCutWait is the longest time between any two records around a cut, first writes after it included, while sums of
// int64 keys are written at random; and the same without a cut, which is what the machine does to a stream. An iteration is
// one cut, with 20 000 records behind it: run it with -benchtime=200x or more.
func BenchmarkCutWait(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) { cutWait(b, keys) })
	}
}

func cutWait(b *testing.B, keys int) {
	g := engine.New(engine.Config{})
	p := newProbe()
	src := engine.From(g, scattered(keys))
	sums := engine.Sum(engine.KeyBy(src, func(k int64) int64 { return k }), func(int64) int64 { return 1 })
	engine.ForEach(sums, func(engine.Context, int64) error { p.record(); return nil })
	pl := build(b, g)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	p.left.Store(int64(keys))
	go func() { ended <- pl.Run(ctx) }()
	<-p.reached
	var with, without []time.Duration
	id := int64(0)
	for b.Loop() {
		without = append(without, p.during(func() {}, 20_000))
		with = append(with, p.during(func() {
			id++
			if _, err := pl.Cut(ctx, id); err != nil {
				b.Fatal(err)
			}
		}, 20_000))
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	for name, list := range map[string][]time.Duration{"cut": with, "none": without} {
		slices.Sort(list)
		for _, q := range []int{50, 99} {
			b.ReportMetric(float64(list[(len(list)-1)*q/100].Microseconds()), fmt.Sprintf("%s-p%d-µs", name, q))
		}
	}
}

// summed is a pipeline that has summed up keys int64 keys.
func summed(b *testing.B, keys int) (*engine.Pipeline, func() *engine.Pipeline) {
	again := func() *engine.Pipeline {
		g := engine.New(engine.Config{})
		sums := engine.Sum(engine.KeyBy(engine.From(g, counting(keys)), func(k int64) int64 { return k }), func(v int64) int64 { return v })
		engine.ForEach(sums, func(engine.Context, int64) error { return nil })
		return build(b, g)
	}
	p := again()
	if err := p.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	return p, again
}

// BenchmarkSerialise is a cut's way to bytes; BenchmarkRestore the way back into a pipeline.
func BenchmarkSerialise(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			p, _ := summed(b, keys)
			s, err := p.Cut(b.Context(), 1)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				bytes := int64(0)
				for _, i := range s.Items {
					item, err := i.Encode()
					if err != nil {
						b.Fatal(err)
					}
					bytes += int64(len(item))
				}
				b.SetBytes(bytes)
			}
			b.ReportMetric(float64(keys*b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			p, again := summed(b, keys)
			s, err := p.Cut(b.Context(), 1)
			items, err := encodeAll(s, err)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := again().Restore(b.Context(), items, engine.Adopt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(keys*b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}

// BenchmarkCutMemory is what a cut that is kept costs in memory, as a share of the state, when the given part of a million keys
// changes meanwhile. Keys that change lie in pages of 16, which are copied whole.
func BenchmarkCutMemory(b *testing.B) {
	const keys = 1_000_000
	for _, changed := range []int{0, 1_000, 10_000, 100_000, keys} {
		b.Run(fmt.Sprint("changed=", changed), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				gate := make(chan struct{})
				g := engine.New(engine.Config{})
				p := newProbe()
				src := engine.From(g, pausing{keys, changed, gate})
				sums := engine.Sum(engine.KeyBy(src, func(k int64) int64 { return k }), func(int64) int64 { return 1 })
				engine.ForEach(sums, func(engine.Context, int64) error { p.record(); return nil })
				pl := build(b, g)
				p.left.Store(keys)
				ended := make(chan error, 1)
				go func() { ended <- pl.Run(b.Context()) }()
				<-p.reached
				state := heap() - before
				s, err := pl.Cut(b.Context(), 1)
				if err != nil {
					b.Fatal(err)
				}
				close(gate)
				if err := <-ended; err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(100*float64(heap()-before-state)/float64(state), "%-of-state")
				runtime.KeepAlive(s)
				runtime.KeepAlive(pl)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// pausing gives all keys, and those that change once the gate is open.
type pausing struct {
	keys, changed int
	gate          <-chan struct{}
}

func (pausing) Seekable() bool { return false }

func (s pausing) Run(_ context.Context, c *engine.Collector[int64]) error {
	for i := range s.keys {
		if err := c.Collect(int64(i)); err != nil {
			return err
		}
	}
	<-s.gate
	for i := range s.changed {
		if err := c.Collect(int64(i) * 7919 % int64(s.keys)); err != nil {
			return err
		}
	}
	return nil
}

// heap is the number of live bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
