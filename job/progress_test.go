package job

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/worker"
)

// moving is a pipeline that processes a record a second.
type moving struct {
	worker.Pipeline
	began time.Time
	until time.Duration
}

func (m moving) Progress() engine.Progress {
	return engine.Progress{RecordsIn: int64(min(time.Since(m.began), m.until) / time.Second), Watermark: engine.MinWatermark}
}

func TestATaskSaysHowFarItHasComeWhileItMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &progress{log: zerolog.New(&out), every: 10 * time.Second}
		var pipeline worker.Pipeline = moving{began: time.Now(), until: 35 * time.Second}
		p.pipeline.Store(&pipeline)
		go p.run(t.Context())
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := strings.Count(out.String(), "processing"); got != 4 { // after 10, 20, 30 and 40 s
			t.Errorf("%d lines, want 4:\n%s", got, out.String())
		}
		if !strings.Contains(out.String(), `"records_in":20,"records_out":0,"late_dropped":0,"per_second":1`) {
			t.Errorf("lines\n%s", out.String())
		}
	})
}

func TestATaskSaysHowMuchOfItsRestorePointIsHere(t *testing.T) {
	ctx := t.Context()
	job, err := memory.NewJob(memory.JobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var handle events.StateHandle
	for _, name := range []string{"a", "b", "c"} {
		ref, err := job.PutChunk(ctx, []byte(name))
		if err != nil {
			t.Fatal(err)
		}
		handle.Chunks = append(handle.Chunks, events.ChunkRef{Name: name, Digest: events.Digest(ref.Digest), Bytes: ref.Bytes})
	}
	value, err := handle.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	token := store.Fence{Epoch: 1, Instance: "c"}
	job.SetLeader(token)
	cp := store.New(7, 1)
	cp.State["task-1"] = json.RawMessage(value)
	if err := job.Fenced(token).Create(ctx, cp); err != nil {
		t.Fatal(err)
	}
	p := &progress{}
	r := restoring{job, "task-1", p}
	if _, err := r.Load(ctx, 7); err != nil || p.chunks.Load() != 3 || p.read.Load() != 0 {
		t.Fatalf("after the record: %d of %d, %v", p.read.Load(), p.chunks.Load(), err)
	}
	if _, err := r.GetChunk(ctx, string(handle.Chunks[0].Digest)); err != nil || p.read.Load() != 1 {
		t.Fatalf("after a chunk: %d of %d, %v", p.read.Load(), p.chunks.Load(), err)
	}
	if _, err := r.Load(ctx, 8); err == nil {
		t.Error("a record that is not there was loaded")
	}
}

func TestTheShareOfARestoreIsAPercentage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &progress{log: zerolog.New(&out), every: time.Second}
		p.chunks.Store(3)
		p.read.Store(1)
		go p.run(t.Context())
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if want := `"percent":33,"chunks":1,"of":3,"message":"restoring"`; !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	})
}
