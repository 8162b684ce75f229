package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// put stores a checkpoint in short form.
func put(t testing.TB, s store.Store, id events.CheckpointID, ts int64, completed bool) {
	t.Helper()
	cp := store.New(id, ts)
	cp.Completed = completed
	if err := s.Store(t.Context(), cp); err != nil {
		t.Fatalf("store %v: %v", id, err)
	}
}

// putAll stores checkpoints written as "1 done 2 open", in that order, with timestamps of id times 1000.
func putAll(t testing.TB, s store.Store, text string) {
	t.Helper()
	fields := strings.Fields(text)
	for i := 0; i < len(fields); i += 2 {
		id, err := events.ParseCheckpointID(fields[i])
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, id, int64(id)*1000, fields[i+1] == "done")
	}
}

// listed are the ids of a list, as "[2 1]".
func listed(t testing.TB, s store.Store, limit int) string {
	t.Helper()
	list, err := s.List(t.Context(), limit)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return ids(list)
}

func ids(list []*store.Checkpoint) string {
	out := []events.CheckpointID{}
	for _, cp := range list {
		out = append(out, cp.ID)
	}
	return fmt.Sprint(out)
}

// left are the ids of what is stored, ascending.
func left(t testing.TB, s store.Store) string {
	t.Helper()
	list, err := s.List(t.Context(), 1<<20)
	if _, err = store.Skipped(err); err != nil {
		t.Fatalf("list: %v", err)
	}
	slices.SortFunc(list, func(a, b *store.Checkpoint) int { return int(a.ID - b.ID) })
	return ids(list)
}

func load(t testing.TB, s store.Store, id events.CheckpointID) *store.Checkpoint {
	t.Helper()
	cp, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatalf("load %v: %v", id, err)
	}
	return cp
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func is(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func ok(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
