package projection_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// crowd is a fold with n restored tasks and checkpoint 0 pending, and the acks that complete it.
func crowd(tb testing.TB, n int) (*projection.State, []events.Envelope) {
	tb.Helper()
	s := projection.New("orders")
	pos := events.Position{Ms: 1}
	put := func(e events.Event) {
		pos = pos.Next()
		if o := s.Apply(pos, events.Envelope{ID: "e", Event: e}); o.Kind != projection.Applied {
			tb.Fatalf("%s: %s %s", e.Kind(), o.Kind, o.Why)
		}
	}
	policy := events.Policy{MaxConcurrent: 1, Retain: 3, QueueLimit: 10}
	trigger := &events.CheckpointTriggered{Epoch: 1, Type: events.TypeCheckpoint}
	acks := make([]events.Envelope, n)
	for i := range n {
		id := events.TaskID(fmt.Sprintf("task-%05d", i))
		policy.Tasks = append(policy.Tasks, id)
		trigger.Tasks = append(trigger.Tasks, events.TaskAttempt{Task: id, Attempt: 1})
		acks[i] = events.Envelope{ID: "0f9c1b9e-7d1c-4b52-9a43-0d7a5a3f2f11", At: 1764453600000, Event: &events.TaskAcked{
			Task: id, Attempt: 1, Epoch: 1, Measures: events.Measures{Sync: 3, Async: 40, Bytes: 1 << 20, Records: 123456},
			Handle: events.StateHandle{Chunks: []events.ChunkRef{
				{Name: "window-1/g1", Digest: digest("a"), Bytes: 4000}, {Name: "positions", Digest: digest("b"), Bytes: 50},
			}},
		}}
	}
	put(&events.CoordinatorStarted{Epoch: 1, Instance: "c1", Policy: policy})
	for _, id := range policy.Tasks {
		put(&events.TaskRegistered{Task: id, Instance: "i1"})
		put(&events.TaskRestored{Task: id, Attempt: 1, Checkpoint: events.NoCheckpoint})
	}
	put(trigger)
	return s, acks
}

func TestADuplicateOrRefusedAckAllocatesNothing(t *testing.T) {
	s, acks := crowd(t, 100)
	pos := events.Position{Ms: 2}
	duplicate := acks[7]
	s.Apply(pos, duplicate)
	for name, env := range map[string]events.Envelope{
		"duplicate":          duplicate,
		"unknown checkpoint": {Event: &events.TaskAcked{Checkpoint: 99, Task: "task-00007", Attempt: 1, Epoch: 1}},
		"foreign task":       {Event: &events.TaskAcked{Checkpoint: 0, Task: "nobody", Attempt: 1, Epoch: 1}},
		"stale epoch":        {Event: &events.TaskAcked{Checkpoint: 0, Task: "task-00008", Attempt: 1, Epoch: 3}},
		"fenced verdict":     {Event: &events.CheckpointCompleted{Checkpoint: 0, Epoch: 3}},
	} {
		got := testing.AllocsPerRun(1000, func() {
			pos = pos.Next()
			if o := s.Apply(pos, env); o.Changed() {
				t.Fatalf("%s: %s", name, o.Kind)
			}
		})
		if got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
	if got := testing.AllocsPerRun(50, func() {
		pos = pos.Next()
		s.Apply(pos, acks[int(pos.Seq)%100])
	}); got != 0 {
		t.Errorf("a new ack: %v allocations", got)
	}
}

// BenchmarkApply measures the fold alone, in acks per second.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{8, 10000} {
		b.Run(fmt.Sprintf("new acks of %d tasks", n), func(b *testing.B) {
			s, acks := crowd(b, n)
			fresh := s.Clone()
			pos, i := events.Position{Ms: 2}, 0
			b.ReportAllocs()
			for b.Loop() {
				if i == n {
					b.StopTimer()
					s, i = fresh.Clone(), 0
					b.StartTimer()
				}
				pos = pos.Next()
				if o := s.Apply(pos, acks[i]); !o.Changed() {
					b.Fatal(o)
				}
				i++
			}
			perAck := float64(b.Elapsed()) / float64(b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acks/s")
			b.ReportMetric(perAck/float64(counting(acks)), "x-floor")
		})
		b.Run(fmt.Sprintf("duplicate acks of %d tasks", n), func(b *testing.B) {
			s, acks := crowd(b, n)
			pos, i := events.Position{Ms: 2}, 0
			for _, e := range acks[:n-1] {
				pos = pos.Next()
				s.Apply(pos, e)
			}
			b.ReportAllocs()
			for b.Loop() {
				if i == n-1 {
					i = 0
				}
				pos = pos.Next()
				if o := s.Apply(pos, acks[i]); o.Kind != projection.Duplicate {
					b.Fatal(o)
				}
				i++
			}
			perAck := float64(b.Elapsed()) / float64(b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acks/s")
			b.ReportMetric(perAck/float64(counting(acks)), "x-floor")
		})
	}
}

// counting is the floor: the time per ack of a hand-written count of distinct tasks, a map in a map and nothing else.
func counting(acks []events.Envelope) time.Duration {
	seen := map[events.CheckpointID]map[events.TaskID]bool{0: {}}
	const rounds = 500000
	start := time.Now()
	for i := range rounds {
		if ack, ok := acks[i%len(acks)].Event.(*events.TaskAcked); ok {
			seen[ack.Checkpoint][ack.Task] = true
		}
	}
	return max(time.Since(start)/rounds, 1)
}

// BenchmarkDecodeAndApply measures replay from memory: the payload of an ack to its effect on the fold. The share says
// how much of the time is the fold's, measured as the rest beside decoding alone.
func BenchmarkDecodeAndApply(b *testing.B) {
	s, acks := crowd(b, 10000)
	payloads := make([][]byte, len(acks))
	for i, e := range acks {
		var err error
		if payloads[i], err = e.Encode(nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("decode", func(b *testing.B) {
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			if _, err := events.Decode("0f9c1b9e-7d1c-4b52-9a43-0d7a5a3f2f11", payloads[i]); err != nil {
				b.Fatal(err)
			}
			i = (i + 1) % len(payloads)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acks/s")
	})
	b.Run("decode and apply", func(b *testing.B) {
		fresh := s.Clone()
		pos, i := events.Position{Ms: 2}, 0
		b.ReportAllocs()
		for b.Loop() {
			if i == len(payloads) {
				b.StopTimer()
				s, i = fresh.Clone(), 0
				b.StartTimer()
			}
			e, err := events.Decode("0f9c1b9e-7d1c-4b52-9a43-0d7a5a3f2f11", payloads[i])
			if err != nil {
				b.Fatal(err)
			}
			pos = pos.Next()
			s.Apply(pos, e)
			i++
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acks/s")
	})
}

// BenchmarkAround measures what the loop does beside folding, with 10 000 tasks and their acks in.
func BenchmarkAround(b *testing.B) {
	s, acks := crowd(b, 10000)
	pos := events.Position{Ms: 2}
	for _, e := range acks[:9999] {
		pos = pos.Next()
		s.Apply(pos, e)
	}
	t := projection.NewTiming(0, s)
	b.Run("decide", func(b *testing.B) {
		for b.Loop() {
			projection.Decide(s, t, 1, projection.Gates{})
		}
	})
	b.Run("next due", func(b *testing.B) {
		for b.Loop() {
			projection.NextDue(s, t, 1)
		}
	})
	b.Run("clone", func(b *testing.B) {
		for b.Loop() {
			s.Clone()
		}
	})
	b.Run("save", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n = len(saved(b, s))
		}
		b.ReportMetric(float64(n), "bytes")
	})
	b.Run("load", func(b *testing.B) {
		data := saved(b, s)
		for b.Loop() {
			if err := projection.New("orders").UnmarshalBinary(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("references", func(b *testing.B) {
		for b.Loop() {
			s.References()
		}
	})
}
