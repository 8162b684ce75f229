package coordinator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

// BenchmarkTriggerToCompleted is one checkpoint on a real Redis, from the call of Trigger until its record is marked, with n
// tasks that ack over the log, each with a chunk of its own.
//
// The tasks are one goroutine that follows the control feed and publishes the acks of all of them in pipelines of 512 XADD, as
// many processes at once would. The floor are the same commands without us, on the same server in the same run: request,
// trigger, control state, acks, proof, verdict, record, control state. Those that need the answer of the one before are
// sent one after the other; acks and the proof of chunks are pipelined by 512, and the acks are read in pages of 512.
func BenchmarkTriggerToCompleted(b *testing.B) {
	for _, n := range []int{3, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			j := newRace(b, testredis.Start(b), n)
			var took, floor []time.Duration
			for b.Loop() {
				took = append(took, j.checkpoint(b))
			}
			for range min(len(took), 20) {
				floor = append(floor, j.floor(b))
			}
			b.ReportMetric(ms(quantile(took, 0.5)), "p50-ms")
			b.ReportMetric(ms(quantile(took, 0.99)), "p99-ms")
			b.ReportMetric(ms(quantile(floor, 0.5)), "floor-ms")
			b.ReportMetric(float64(quantile(took, 0.5))/float64(quantile(floor, 0.5)), "x-floor")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[min(int(q*float64(len(list))), len(list)-1)]
}

// race is a job of n tasks and its coordinator.
type race struct {
	client redis.UniversalClient
	log    *redislog.Log
	c      *coordinator.Coordinator
	tasks  []events.TaskID
	chunks []events.ChunkRef
	record []byte // of a completed checkpoint
}

func newRace(b *testing.B, srv *testredis.Server, n int) *race {
	b.Helper()
	j := &race{client: newClient(b, srv)}
	var err error
	if j.log, err = redislog.Open(redislog.Config{Job: "race", Client: j.client}); err != nil {
		b.Fatal(err)
	}
	st, err := storeredis.NewJob(j.client, "race", storeredis.JobOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		j.tasks = append(j.tasks, events.TaskID(fmt.Sprintf("task-%05d", i)))
		ref, err := st.PutChunk(b.Context(), fmt.Appendf(nil, "state of task %d", i))
		if err != nil {
			b.Fatal(err)
		}
		j.chunks = append(j.chunks, events.ChunkRef{Name: "state", Digest: events.Digest(ref.Digest), Bytes: ref.Bytes})
	}
	j.c, err = coordinator.Open(b.Context(), coordinator.Config{
		Job: "race", Log: j.log, Store: st, Tasks: j.tasks, Retain: 2, PresenceTTL: 1000 * time.Hour,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); j.work(ctx, b) }()
	b.Cleanup(func() {
		cancel()
		<-ended
		_ = j.c.Close()
	})
	j.bringUp(b)
	j.checkpoint(b) // warm, and the record that the floor writes
	cp, err := j.c.Latest(b.Context())
	if err == nil {
		j.record, err = store.EncodeRecord(cp, 0)
	}
	if err != nil {
		b.Fatal(err)
	}
	return j
}

func (j *race) bringUp(b *testing.B) {
	b.Helper()
	var up []events.Event
	for _, task := range j.tasks {
		up = append(up, &events.TaskRegistered{Task: task, Instance: events.InstanceID(task)})
	}
	for _, task := range j.tasks {
		up = append(up, &events.TaskRestored{Task: task, Attempt: 1, Checkpoint: events.NoCheckpoint})
	}
	if err := j.publish(b.Context(), "tm:{race}:log", up); err != nil {
		b.Fatal(err)
	}
}

// publish sends events in pipelines of 512.
func (j *race) publish(ctx context.Context, key string, list []events.Event) error {
	for part := range slices.Chunk(list, 512) {
		pipe := j.client.Pipeline()
		for _, e := range part {
			wires, err := eventlog.ToWire(events.Envelope{ID: eventlog.NewEventID(), At: time.Now().UnixMilli(), Event: e})
			if err != nil {
				return err
			}
			pipe.XAdd(ctx, &redis.XAddArgs{
				Stream: key, Values: []any{events.FieldID, string(wires[0].ID), events.FieldPayload, wires[0].Payload},
			})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (j *race) acks(id events.CheckpointID, epoch events.Epoch) []events.Event {
	list := make([]events.Event, len(j.tasks))
	for i, task := range j.tasks {
		list[i] = &events.TaskAcked{
			Checkpoint: id, Task: task, Attempt: 1, Epoch: epoch, Handle: events.StateHandle{Chunks: j.chunks[i : i+1]},
		}
	}
	return list
}

// work is all tasks: each new pending checkpoint is acked.
func (j *race) work(ctx context.Context, b *testing.B) {
	last := events.NoCheckpoint
	for control, err := range j.log.FollowControl(ctx, eventlog.FollowOptions{}) {
		if err != nil {
			b.Errorf("follow the control feed: %v", err)
			return
		}
		for _, p := range control.Pending {
			if p.ID <= last {
				continue
			}
			last = p.ID
			if err := j.publish(ctx, "tm:{race}:log", j.acks(p.ID, p.Epoch)); err != nil && ctx.Err() == nil {
				b.Errorf("ack: %v", err)
			}
		}
	}
}

func (j *race) checkpoint(b *testing.B) time.Duration {
	b.Helper()
	for {
		began := time.Now()
		h, err := j.c.Trigger(b.Context(), coordinator.TriggerOptions{})
		if err != nil { // not all are restored yet, at the beginning
			continue
		}
		if err := h.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
}

// floor sends what one checkpoint sends, to keys of its own.
func (j *race) floor(b *testing.B) time.Duration {
	b.Helper()
	const log, control, record = "tm:{race}:floor", "tm:{race}:floorcontrol", "tm:{race}:floorrecord"
	ctx := b.Context()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	acks := j.acks(1, 1)
	must(j.client.Del(ctx, log, control, record).Err())
	state, err := json.Marshal(map[string]any{"epoch": 1, "pending": []int{1}})
	must(err)
	last := map[string]string{log: "0-0", control: "0-0"}
	read := func(key string) int {
		streams, err := j.client.XRead(ctx, &redis.XReadArgs{Streams: []string{key, last[key]}, Count: 512, Block: -1}).Result()
		must(err)
		page := streams[0].Messages
		last[key] = page[len(page)-1].ID
		return len(page)
	}
	one := func(key string) {
		must(j.client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []any{"id", "x", "payload", state}}).Err())
		read(key)
	}
	began := time.Now()
	one(log)                                                 // the request, read by the coordinator
	must(j.client.SetNX(ctx, record, "{}", time.Hour).Err()) // the open record
	one(log)                                                 // the trigger, read back
	one(control)                                             // the control state, read by the tasks
	must(j.publish(ctx, log, acks))
	for n := 0; n < len(acks); { // the acks, read
		n += read(log)
	}
	for part := range slices.Chunk(j.chunks, 512) { // the proof
		pipe := j.client.Pipeline()
		for _, ref := range part {
			key := "streaming:runtime:checkpoint:{race}:state:" + string(ref.Digest)
			pipe.Exists(ctx, key)
			pipe.Persist(ctx, key)
		}
		_, err := pipe.Exec(ctx)
		must(err)
	}
	one(log)                                           // the verdict, read back
	must(j.client.Get(ctx, record).Err())              // the record,
	must(j.client.Set(ctx, record, j.record, 0).Err()) // marked
	return time.Since(began)
}
