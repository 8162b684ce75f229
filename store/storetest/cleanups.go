package storetest

import (
	"testing"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

func cleanupRules() []rule {
	return []rule{
		{"cleanup keeps the newest and says how many went", func(t *testing.T, s Subject) {
			for _, tc := range []struct {
				name, have string
				keep       int
				removed    int
				left       string
			}{
				{"one of three", "1 done 2 done 3 done", 1, 2, "[3]"},
				{"two of five", "1 done 2 done 3 done 4 done 5 done", 2, 3, "[4 5]"},
				{"as many as there are", "1 done 2 done", 2, 0, "[1 2]"},
				{"more than there are", "1 done 2 done", 5, 0, "[1 2]"},
				{"none", "1 done 2 open 3 done", 0, 3, "[]"},
				{"the newest is open and goes first", "1 done 2 done 3 open", 2, 1, "[1 2]"},
				{"open, then oldest completed", "1 done 2 open 3 done 4 done", 2, 2, "[3 4]"},
				{"only open ones, oldest first", "1 open 2 open 3 open", 1, 2, "[3]"},
			} {
				_, err := s.Store.Cleanup(t.Context(), 0, nil)
				ok(t, "empty", err)
				putAll(t, s.Store, tc.have)
				equal(t, tc.name+": removed", cleanup(t, s.Store, tc.keep, nil), tc.removed)
				equal(t, tc.name+": left", left(t, s.Store), tc.left)
				equal(t, tc.name+": removed again", cleanup(t, s.Store, tc.keep, nil), 0)
			}
		}},
		{"a negative keep is invalid and removes nothing", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 done")
			_, err := s.Store.Cleanup(t.Context(), -1, nil)
			is(t, "cleanup", err, store.ErrInvalid)
			equal(t, "left", left(t, s.Store), "[1 2]")
		}},
		{"protected ones stay and count among the kept", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 open 3 done 4 done")
			protect := func(id events.CheckpointID) bool { return id <= 2 }
			equal(t, "removed", cleanup(t, s.Store, 3, protect), 1)
			equal(t, "left", left(t, s.Store), "[1 2 4]")
			equal(t, "removed", cleanup(t, s.Store, 0, protect), 1)
			equal(t, "left", left(t, s.Store), "[1 2]")
		}},
		{"cleanup goes by id, so that a clock stepping back does not lose the latest", func(t *testing.T, s Subject) {
			put(t, s.Store, 5, 5000, true)
			put(t, s.Store, 6, 1000, true)
			equal(t, "removed", cleanup(t, s.Store, 1, nil), 1)
			equal(t, "left", left(t, s.Store), "[6]")
		}},
		{"unreadable ones are not removed, not counted, and named", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "2 done 3 done 4 done")
			s.Plant(t, 1, `{"id":1,"timestamp":1,"completed":true,"version":7,"state":{}}`)
			again := s.Reopen(t)
			n, err := again.Cleanup(t.Context(), 2, nil)
			bad, err := store.Skipped(err)
			ok(t, "cleanup", err)
			if bad == nil {
				t.Fatal("the unreadable one was not named")
			}
			is(t, "cleanup", bad, store.ErrVersion)
			equal(t, "removed", n, 1)
			equal(t, "left", left(t, again), "[3 4]")
			_, err = again.Load(t.Context(), 1)
			is(t, "load", err, store.ErrVersion)
		}},
	}
}

func cleanup(t testing.TB, s store.Store, keep int, protected func(events.CheckpointID) bool) int {
	t.Helper()
	n, err := s.Cleanup(t.Context(), keep, protected)
	ok(t, "cleanup", err)
	return n
}
