package memory_test

import (
	"testing"

	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
)

func TestSmoke(t *testing.T) {
	ctx := t.Context()
	j, err := memory.NewJob(memory.JobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := store.Fence{Epoch: 1, Instance: "a"}
	j.SetLeader(f)
	s := j.Fenced(f)
	cp := store.New(0, 5)
	cp.State["n"] = 42
	cp.State["f"] = 3.0
	if err := s.Create(ctx, cp); err != nil {
		t.Fatal(err)
	}
	got, err := s.Complete(ctx, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := store.EncodeRecord(got, 0)
	t.Logf("%s %v", b, got)
	n, ok, err := store.Get[int](got.State, "n")
	if n != 42 || !ok || err != nil {
		t.Fatal(n, ok, err)
	}
	ref, err := s.PutChunk(ctx, make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Keep(ctx, []string{ref.Digest}); len(m) != 0 || err != nil {
		t.Fatal(m, err)
	}
	if d, err := s.GetChunk(ctx, ref.Digest); len(d) != 1000 || err != nil {
		t.Fatal(err)
	}
	t.Log(ref)
}
