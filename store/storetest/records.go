package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

func recordRules() []rule {
	return []rule{
		{"a stored checkpoint comes back with id, timestamp, flag, version and state", func(t *testing.T, s Subject) {
			cp := store.New(7, 1234)
			cp.State["a"] = "b"
			cp.Completed = true
			ok(t, "store", s.Store.Store(t.Context(), cp))
			if diff := cmp.Diff(cp, load(t, s.Store, 7)); diff != "" {
				t.Error(diff)
			}
		}},
		{"a missing checkpoint is not found, and nothing else", func(t *testing.T, s Subject) {
			_, err := s.Store.Load(t.Context(), 999)
			is(t, "load", err, store.ErrNotFound)
		}},
		{"storing the same id overwrites, and the list has one entry", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 1000, false)
			put(t, s.Store, 1, 1500, false)
			equal(t, "timestamp", load(t, s.Store, 1).Timestamp, 1500)
			equal(t, "list", listed(t, s.Store, 10), "[1]")
		}},
		{"storing one checkpoint never changes another", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 open 2 done 3 open")
			for id := events.CheckpointID(1); id <= 3; id++ {
				cp := load(t, s.Store, id)
				equal(t, "timestamp", cp.Timestamp, int64(id)*1000)
				equal(t, "completed", cp.Completed, id == 2)
			}
		}},
		{"create writes a new checkpoint, and refuses an id that is taken", func(t *testing.T, s Subject) {
			ok(t, "create", s.Store.Create(t.Context(), store.New(0, 1)))
			is(t, "create again", s.Store.Create(t.Context(), store.New(0, 1)), store.ErrExists)
			put(t, s.Store, 1, 7, true)
			is(t, "create over stored", s.Store.Create(t.Context(), store.New(1, 1)), store.ErrExists)
			equal(t, "timestamp", load(t, s.Store, 1).Timestamp, 7)
		}},
		{"create repeated with its nonce succeeds, even after a task has put state into the record", func(t *testing.T, s Subject) {
			cp := store.New(3, 1)
			cp.Nonce = "mine"
			ok(t, "create", s.Store.Create(t.Context(), cp))
			ok(t, "create again", s.Store.Create(t.Context(), cp))
			changed := load(t, s.Store, 3)
			changed.State["k"] = "v"
			ok(t, "store", s.Store.Store(t.Context(), changed))
			ok(t, "create after change", s.Store.Create(t.Context(), cp))
			equal(t, "state", load(t, s.Store, 3).State["k"], any("v"))
		}},
		{"create leaves the caller's checkpoint as it was", func(t *testing.T, s Subject) {
			cp := store.New(3, 1)
			ok(t, "create", s.Store.Create(t.Context(), cp))
			if diff := cmp.Diff(store.New(3, 1), cp); diff != "" {
				t.Error(diff)
			}
		}},
		{"an open checkpoint never replaces a completed one", func(t *testing.T, s Subject) {
			put(t, s.Store, 4, 1, true)
			is(t, "store", s.Store.Store(t.Context(), store.New(4, 2)), store.ErrCompleted)
			cp := load(t, s.Store, 4)
			equal(t, "completed", cp.Completed, true)
			equal(t, "timestamp", cp.Timestamp, 1)
		}},
		{"deleting says whether there was one", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 1, true)
			for _, want := range []bool{true, false} {
				got, err := s.Store.Delete(t.Context(), 1)
				ok(t, "delete", err)
				equal(t, "deleted", got, want)
			}
			_, err := s.Store.Load(t.Context(), 1)
			is(t, "load", err, store.ErrNotFound)
			equal(t, "left", left(t, s.Store), "[]")
		}},
		{"a negative id and no checkpoint are invalid", func(t *testing.T, s Subject) {
			is(t, "create nil", s.Store.Create(t.Context(), nil), store.ErrInvalid)
			is(t, "store nil", s.Store.Store(t.Context(), nil), store.ErrInvalid)
			is(t, "create", s.Store.Create(t.Context(), store.New(-1, 1)), store.ErrInvalid)
			is(t, "store", s.Store.Store(t.Context(), store.New(-5, 1)), store.ErrInvalid)
		}},
		{"a version that this release does not know is refused by name, both ways", func(t *testing.T, s Subject) {
			cp := store.New(1, 1)
			cp.Version = 2
			is(t, "store", s.Store.Store(t.Context(), cp), store.ErrVersion)
			s.Plant(t, 2, `{"id":2,"timestamp":5,"completed":true,"version":9,"state":{}}`)
			_, err := s.Store.Load(t.Context(), 2)
			is(t, "load", err, store.ErrVersion)
			is(t, "store over it", s.Store.Store(t.Context(), store.New(2, 1)), store.ErrVersion)
		}},
		{"a done context ends a call with its cause, and nothing is written", func(t *testing.T, s Subject) {
			ctx, cancel := cancelled(t)
			defer cancel()
			is(t, "create", s.Store.Create(ctx, store.New(1, 1)), errCancelled)
			_, err := s.Store.Latest(ctx)
			is(t, "latest", err, errCancelled)
			equal(t, "left", left(t, s.Store), "[]")
		}},
		{"a closed store refuses everything and may be closed again", func(t *testing.T, s Subject) {
			ok(t, "close", s.Store.Close())
			ok(t, "close", s.Store.Close())
			ctx := t.Context()
			is(t, "create", s.Store.Create(ctx, store.New(1, 1)), store.ErrClosed)
			is(t, "store", s.Store.Store(ctx, store.New(1, 1)), store.ErrClosed)
			_, err := s.Store.Load(ctx, 1)
			is(t, "load", err, store.ErrClosed)
			_, err = s.Store.List(ctx, 1)
			is(t, "list", err, store.ErrClosed)
			_, err = s.Store.Latest(ctx)
			is(t, "latest", err, store.ErrClosed)
			_, err = s.Store.HighestID(ctx)
			is(t, "highest", err, store.ErrClosed)
			_, err = s.Store.Complete(ctx, 1, nil)
			is(t, "complete", err, store.ErrClosed)
			_, err = s.Store.Delete(ctx, 1)
			is(t, "delete", err, store.ErrClosed)
			_, err = s.Store.Cleanup(ctx, 1, nil)
			is(t, "cleanup", err, store.ErrClosed)
		}},
	}
}
