package storetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

func listRules() []rule {
	return []rule{
		{"the latest is the newest completed one, not the newest", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 open")
			equal(t, "latest", latest(t, s.Store), 1)
		}},
		{"the latest of nothing, or of open ones only, is none", func(t *testing.T, s Subject) {
			_, err := s.Store.Latest(t.Context())
			is(t, "empty", err, store.ErrNone)
			put(t, s.Store, 5, 1, false)
			_, err = s.Store.Latest(t.Context())
			is(t, "only open", err, store.ErrNone)
		}},
		{"the latest goes by id, also when the clock stepped back", func(t *testing.T, s Subject) {
			put(t, s.Store, 5, 5000, true)
			put(t, s.Store, 6, 1000, true)
			equal(t, "latest", latest(t, s.Store), 6)
			equal(t, "list", listed(t, s.Store, 2), "[5 6]")
		}},
		{"the latest goes by number, not by text", func(t *testing.T, s Subject) {
			for _, id := range []events.CheckpointID{9, 10, 100, math.MaxInt64, 99} {
				put(t, s.Store, id, 1, true)
			}
			equal(t, "latest", latest(t, s.Store), math.MaxInt64)
			equal(t, "equal timestamps by id", listed(t, s.Store, 3), "[9223372036854775807 100 99]")
		}},
		{"the latest steps back when the newest is deleted", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 done")
			_, err := s.Store.Delete(t.Context(), 2)
			ok(t, "delete", err)
			equal(t, "latest", latest(t, s.Store), 1)
		}},
		{"the list is newest first, whatever the order of storing", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "2 done 1 open 4 open 3 done")
			equal(t, "list", listed(t, s.Store, 10), "[4 3 2 1]")
		}},
		{"a changed timestamp changes the place in the list", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 open 2 open 3 open")
			put(t, s.Store, 1, 2500, false)
			equal(t, "list", listed(t, s.Store, 2), "[3 1]")
		}},
		{"timestamps may be negative or zero", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, -5, false)
			put(t, s.Store, 2, 0, false)
			put(t, s.Store, 3, -6, true)
			equal(t, "list", listed(t, s.Store, 3), "[2 1 3]")
		}},
		{"limit bounds the list: 0 is empty, more than there are is all", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 done 3 done 4 open 5 done")
			for limit, want := range map[int]string{0: "[]", 2: "[5 4]", 5: "[5 4 3 2 1]", math.MaxInt: "[5 4 3 2 1]"} {
				equal(t, fmt.Sprintf("limit %d", limit), listed(t, s.Store, limit), want)
			}
			_, err := s.Store.List(t.Context(), -1)
			is(t, "limit -1", err, store.ErrInvalid)
		}},
		{"long lists come whole", func(t *testing.T, s Subject) {
			for id := range events.CheckpointID(150) {
				put(t, s.Store, id, int64(id), id%2 == 0)
			}
			list, err := s.Store.List(t.Context(), 1000)
			ok(t, "list", err)
			equal(t, "length", len(list), 150)
			for i, cp := range list {
				equal(t, "place", cp.ID, events.CheckpointID(149-i))
			}
			equal(t, "latest", latest(t, s.Store), 148)
		}},
		{"the highest id is of any kind, and none at first", func(t *testing.T, s Subject) {
			equal(t, "empty", highest(t, s.Store), events.NoCheckpoint)
			put(t, s.Store, 0, 1, true)
			equal(t, "zero", highest(t, s.Store), 0)
			putAll(t, s.Store, "7 open 5 done")
			equal(t, "open", highest(t, s.Store), 7)
		}},
		{"the highest id does not step back when it is deleted, so that none is used twice", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 9 open")
			_, err := s.Store.Cleanup(t.Context(), 1, nil)
			ok(t, "cleanup", err)
			equal(t, "left", left(t, s.Store), "[1]")
			equal(t, "highest", highest(t, s.Store), 9)
		}},
	}
}

func latest(t testing.TB, s store.Store) events.CheckpointID {
	t.Helper()
	cp, err := s.Latest(t.Context())
	ok(t, "latest", err)
	return cp.ID
}

func highest(t testing.TB, s store.Store) events.CheckpointID {
	t.Helper()
	id, err := s.HighestID(t.Context())
	ok(t, "highest id", err)
	return id
}
