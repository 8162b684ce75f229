package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
)

// side runs ours and the floor by turns, so that both meet the same machine, and reports the time of each and how many
// times the floor ours takes. What prepares a turn is not counted.
func side(b *testing.B, ours, floor func(i int) error, prepare ...func(i int) error) {
	b.Helper()
	var tOurs, tFloor time.Duration
	n := 0
	for b.Loop() {
		for _, p := range prepare {
			if err := p(n); err != nil {
				b.Fatal(err)
			}
		}
		start := time.Now()
		if err := ours(n); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if err := floor(n); err != nil {
			b.Fatal(err)
		}
		tOurs += middle.Sub(start)
		tFloor += time.Since(middle)
		n++
	}
	b.ReportMetric(float64(tOurs.Microseconds())/float64(n), "µs/ours")
	b.ReportMetric(float64(tFloor.Microseconds())/float64(n), "µs/floor")
	b.ReportMetric(float64(tOurs)/float64(tFloor), "x/floor")
}

// state is compressible to about a third, as typical state is.
func benchState(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 0, size+32)
	for len(data) < size {
		data = fmt.Appendf(data, `{"origin":"A%02d","sum":%d}`, r.IntN(100), r.IntN(100_000))
	}
	return data[:size]
}

func benchJob(b *testing.B) (*redis.Job, store.JobStore, *goredis.Client) {
	b.Helper()
	client := testredis.Start(b).Client(b)
	lead(b, client, "j", fence)
	j := newJob(b, client, "j", redis.JobOptions{})
	return j, j.Fenced(fence), client
}

var sizes = []int{1 << 10, 64 << 10, 1 << 20}

// BenchmarkPutChunk writes new content each time; the floor is SET of the same raw bytes.
func BenchmarkPutChunk(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			j, _, client := benchJob(b)
			data := benchState(size)
			side(b, func(i int) error {
				copy(data, fmt.Sprintf("%012d", i))
				_, err := j.PutChunk(b.Context(), data)
				return err
			}, func(int) error { return client.Set(b.Context(), "floor", data, time.Hour).Err() })
		})
	}
}

// BenchmarkPutChunkUnchanged puts what is there already; the floor is the same as for new content.
func BenchmarkPutChunkUnchanged(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			j, _, client := benchJob(b)
			data := benchState(size)
			side(b, func(int) error {
				_, err := j.PutChunk(b.Context(), data)
				return err
			}, func(int) error { return client.Set(b.Context(), "floor", data, time.Hour).Err() })
		})
	}
}

// BenchmarkGetChunk: the floor is GET of the same raw bytes.
func BenchmarkGetChunk(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			j, _, client := benchJob(b)
			data := benchState(size)
			ref, err := j.PutChunk(b.Context(), data)
			if err := client.Set(b.Context(), "floor", data, 0).Err(); err != nil {
				b.Fatal(err)
			}
			if err != nil {
				b.Fatal(err)
			}
			side(b, func(int) error {
				_, err := j.GetChunk(b.Context(), ref.Digest)
				return err
			}, func(int) error { return client.Get(b.Context(), "floor").Err() })
		})
	}
}

// BenchmarkComplete: the floor is what cannot be less, one GET and one SET of the same record.
func BenchmarkComplete(b *testing.B) {
	_, leader, client := benchJob(b)
	raw, err := store.EncodeRecord(benchRecord(0), 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := client.Set(b.Context(), "floor", raw, 0).Err(); err != nil {
		b.Fatal(err)
	}
	next := events.CheckpointID(0)
	side(b, func(int) error {
		_, err := leader.Complete(b.Context(), next, nil)
		next++
		return err
	}, func(int) error {
		if err := client.Get(b.Context(), "floor").Err(); err != nil {
			return err
		}
		return client.Set(b.Context(), "floor", raw, 0).Err()
	}, func(int) error { return leader.Store(b.Context(), benchRecord(next)) })
}

// BenchmarkCompleteOfManyTasks is what the coordinator does: handles of 10 000 tasks are put into an open record. The floor is
// one GET and one SET of the record; ours is the encoding alone.
func BenchmarkCompleteOfManyTasks(b *testing.B) {
	_, leader, client := benchJob(b)
	cp := store.New(0, 0)
	for i := range 10_000 {
		cp.State[fmt.Sprintf("task-%d", i)] = map[string]any{"chunks": []any{store.Digest(fmt.Append(nil, i))}, "bytes": 1000}
	}
	raw, err := store.EncodeRecord(cp, 0)
	if err != nil {
		b.Fatal(err)
	}
	next := events.CheckpointID(0)
	side(b, func(int) error {
		next++
		open := store.New(next, int64(next))
		if err := leader.Store(b.Context(), open); err != nil {
			return err
		}
		_, err := leader.Complete(b.Context(), next, func(r *store.Checkpoint) error { r.State = cp.State; return nil })
		return err
	}, func(int) error {
		if err := client.Set(b.Context(), "floor", raw, 0).Err(); err != nil {
			return err
		}
		return client.Get(b.Context(), "floor").Err()
	}, func(int) error {
		_, err := store.EncodeRecord(cp, 0)
		return err
	})
}

// benchRecord is a record with the handles of 100 tasks.
func benchRecord(id events.CheckpointID) *store.Checkpoint {
	cp := store.New(id, int64(id))
	for i := range 100 {
		cp.State[fmt.Sprintf("task-%d", i)] = map[string]any{"chunks": []any{store.Digest(fmt.Append(nil, i))}, "bytes": 1000}
	}
	return cp
}

// BenchmarkLatest reads the latest of five checkpoints on a server that holds nothing else, then beside a million foreign
// keys; the floor is one GET of the same record. It reports what opening costs in both cases, and the
// bare SCAN of it.
func BenchmarkLatest(b *testing.B) {
	client := testredis.Start(b).Client(b)
	ctx := b.Context()
	s := newStore(b, client, "")
	for id := range events.CheckpointID(5) {
		cp := benchRecord(id)
		cp.Complete()
		if err := s.Store(ctx, cp); err != nil {
			b.Fatal(err)
		}
	}
	for _, foreign := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("%d_foreign_keys", foreign), func(b *testing.B) {
			fill(ctx, b, client, foreign)
			fresh := newStore(b, client, "")
			start := time.Now()
			if err := fresh.Open(ctx); err != nil {
				b.Fatal(err)
			}
			opening := time.Since(start)
			start = time.Now()
			scan := client.Scan(ctx, 0, "checkpoint:*", redis.DefaultScanCount).Iterator()
			for scan.Next(ctx) {
			}
			if err := scan.Err(); err != nil {
				b.Fatal(err)
			}
			scanning := time.Since(start)
			side(b, func(int) error {
				_, err := fresh.Latest(ctx)
				return err
			}, func(int) error { return client.Get(ctx, "checkpoint:4").Err() })
			b.ReportMetric(float64(opening.Microseconds())/1000, "ms/opening")
			b.ReportMetric(float64(scanning.Microseconds())/1000, "ms/raw_scan")
		})
	}
}

// fill makes keys that are not ours, a hundred thousand a script.
func fill(ctx context.Context, b *testing.B, client *goredis.Client, n int) {
	b.Helper()
	script := goredis.NewScript(`for i = ARGV[1], ARGV[2] do redis.call('SET', 'foreign:' .. i, 'x') end return 1`)
	for from := 0; from < n; from += 100_000 {
		if err := script.Run(ctx, client, nil, from, from+100_000-1).Err(); err != nil {
			b.Fatal(err)
		}
	}
}
