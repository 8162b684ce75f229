package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

var errMerge = errors.New("merge refuses")

func completeRules() []rule {
	return []rule{
		{"completing keeps what tasks have put into the record", func(t *testing.T, s Subject) {
			ok(t, "create", s.Store.Create(t.Context(), store.New(0, 5)))
			cp := load(t, s.Store, 0)
			cp.State["user-count"] = 1000
			cp.State["offsets"] = map[string]int{"p0": 11, "p1": 22}
			ok(t, "store", s.Store.Store(t.Context(), cp))
			done, err := s.Store.Complete(t.Context(), 0, nil)
			ok(t, "complete", err)
			want := store.State{"user-count": int64(1000), "offsets": map[string]any{"p0": int64(11), "p1": int64(22)}}
			for _, got := range []*store.Checkpoint{done, load(t, s.Store, 0)} {
				equal(t, "completed", got.Completed, true)
				if diff := cmp.Diff(want, got.State); diff != "" {
					t.Error(diff)
				}
			}
			equal(t, "latest", latest(t, s.Store), 0)
		}},
		{"merge sees the record and its changes are written", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 5, false)
			done, err := s.Store.Complete(t.Context(), 1, func(cp *store.Checkpoint) error {
				equal(t, "completed in merge", cp.Completed, false)
				cp.State["k"] = "v"
				cp.ID, cp.Completed = 99, false // neither is merge's to decide
				return nil
			})
			ok(t, "complete", err)
			equal(t, "id", done.ID, 1)
			equal(t, "completed", done.Completed, true)
			equal(t, "entries that are not read back", len(done.State), 0)
			cp := load(t, s.Store, 1)
			equal(t, "state", cp.State["k"], any("v"))
			equal(t, "completed", cp.Completed, true)
		}},
		{"an error of merge is returned and nothing is written", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 5, false)
			_, err := s.Store.Complete(t.Context(), 1, func(*store.Checkpoint) error { return errMerge })
			is(t, "complete", err, errMerge)
			equal(t, "completed", load(t, s.Store, 1).Completed, false)
		}},
		{"completing twice is harmless, and merge is not asked again", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 5, true)
			cp, err := s.Store.Complete(t.Context(), 1, func(*store.Checkpoint) error { return errMerge })
			ok(t, "complete", err)
			equal(t, "completed", cp.Completed, true)
		}},
		{"completing a missing one is not found, and makes no record", func(t *testing.T, s Subject) {
			_, err := s.Store.Complete(t.Context(), 999, nil)
			is(t, "complete", err, store.ErrNotFound)
			equal(t, "left", left(t, s.Store), "[]")
		}},
		{"a put that comes between reading and writing is not lost", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 5, false)
			calls := 0
			_, err := s.Store.Complete(t.Context(), 1, func(cp *store.Checkpoint) error {
				if calls++; calls == 1 {
					late := store.New(1, 5)
					late.State["late"] = true
					return s.Store.Store(t.Context(), late)
				}
				cp.State["merged"] = true
				return nil
			})
			ok(t, "complete", err)
			equal(t, "merges", calls, 2)
			if diff := cmp.Diff(store.State{"late": true, "merged": true}, load(t, s.Store, 1).State); diff != "" {
				t.Error(diff)
			}
		}},
		{"a record that changes for ever ends the attempts", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 0, false)
			n := int64(0)
			_, err := s.Store.Complete(t.Context(), 1, func(*store.Checkpoint) error {
				n++
				put(t, s.Store, 1, n, false)
				return nil
			})
			is(t, "complete", err, store.ErrContended)
			equal(t, "completed", load(t, s.Store, 1).Completed, false)
		}},
		{"a record deleted between reading and writing is not made again", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 0, false)
			_, err := s.Store.Complete(t.Context(), 1, func(*store.Checkpoint) error {
				_, err := s.Store.Delete(t.Context(), 1)
				return err
			})
			is(t, "complete", err, store.ErrNotFound)
			equal(t, "left", left(t, s.Store), "[]")
		}},
	}
}

func raceRules() []rule {
	return []rule{
		{"of many creators of one id one wins", func(t *testing.T, s Subject) {
			errs := inParallel(20, func(int) error { return s.Store.Create(t.Context(), store.New(7, 1)) })
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else {
					is(t, "create", err, store.ErrExists)
				}
			}
			equal(t, "winners", won, 1)
		}},
		{"completions and puts of one record at once lose nothing", func(t *testing.T, s Subject) {
			put(t, s.Store, 1, 1, false)
			errs := inParallel(8, func(i int) error {
				_, err := s.Store.Complete(t.Context(), 1, func(cp *store.Checkpoint) error {
					cp.State[fmt.Sprint(i)] = i
					return nil
				})
				return err
			})
			for _, err := range errs {
				ok(t, "complete", err)
			}
			equal(t, "entries", len(load(t, s.Store, 1).State), 1)
		}},
		{"many different ids at once are all there", func(t *testing.T, s Subject) {
			for _, err := range inParallel(50, func(i int) error {
				return s.Store.Create(t.Context(), store.New(events.CheckpointID(i), int64(i)))
			}) {
				ok(t, "create", err)
			}
			list, err := s.Store.List(t.Context(), 100)
			ok(t, "list", err)
			equal(t, "length", len(list), 50)
			equal(t, "highest", highest(t, s.Store), 49)
		}},
	}
}

// inParallel runs do n times at once and returns what came back.
func inParallel(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errs
}
