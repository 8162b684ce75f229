package storetest

import (
	"testing"

	"github.com/tidemark-stream/tidemark/store"
)

func foreignRules() []rule {
	return []rule{
		{"a store filled by the plain layout alone works", func(t *testing.T, s Subject) {
			s.Plant(t, 0, `{"id":0,"timestamp":1000,"completed":true,"version":1,"state":{"k":1}}`)
			s.Plant(t, 1, `{ "id": 1, "timestamp": 2000, "completed": false }`)
			s.Plant(t, 41, `{"state":{},"timestamp":3000,"id":41,"completed":true}`)
			again := s.Reopen(t)
			equal(t, "list", listed(t, again, 10), "[41 1 0]")
			equal(t, "latest", latest(t, again), 41)
			equal(t, "highest", highest(t, again), 41)
			equal(t, "removed", cleanup(t, again, 1, nil), 2)
			equal(t, "left", left(t, again), "[41]")
		}},
		{"a record without a version marker is of version 0, and stays so", func(t *testing.T, s Subject) {
			s.Plant(t, 1, `{"id":1,"timestamp":5,"completed":false,"state":{}}`)
			equal(t, "version", load(t, s.Store, 1).Version, store.LegacySnapshotVersion)
			cp, err := s.Store.Complete(t.Context(), 1, nil)
			ok(t, "complete", err)
			equal(t, "version", cp.Version, store.LegacySnapshotVersion)
		}},
		{"unknown members survive completion", func(t *testing.T, s Subject) {
			s.Plant(t, 1, `{"id":1,"timestamp":5,"completed":false,"version":1,"state":{},"later":{"a":[1, 2.50]}}`)
			_, err := s.Store.Complete(t.Context(), 1, nil)
			ok(t, "complete", err)
			equal(t, "member", string(load(t, s.Store, 1).Extra["later"]), `{"a":[1,2.50]}`)
		}},
		{"a foreign record is not overwritten by create, and its id counts from then on", func(t *testing.T, s Subject) {
			equal(t, "highest", highest(t, s.Store), -1)
			s.Plant(t, 3, `{"id":3,"timestamp":5,"completed":true}`)
			is(t, "create", s.Store.Create(t.Context(), store.New(3, 1)), store.ErrExists)
			equal(t, "highest", highest(t, s.Store), 3)
			equal(t, "latest", latest(t, s.Store), 3)
		}},
		{"a corrupt record is reported by name and breaks no list", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 open")
			for _, raw := range []string{
				`{"id":10,"timestamp":5,"completed":true,"state"`, ``, `null`, `[]`, `7`, `{}`,
				`{"id":15,"timestamp":5,"completed":true}`, `{"id":10,"timestamp":5,"completed":"yes"}`,
				`{"id":10}`, `{"timestamp":5}`, `{"id":null,"timestamp":5}`, `{"id":10,"timestamp":"5"}`,
				`{"id":10,"timestamp":5,"state":[1]}`, `{"id":10,"timestamp":5,"version":-1}`, `{"id":10,"timestamp":5} {}`,
				"{\"id\":10,\"timestamp\":5,\"x\":\"\xff\"}",
			} {
				s.Plant(t, 10, raw)
				again := s.Reopen(t)
				_, err := again.Load(t.Context(), 10)
				is(t, raw, err, store.ErrCorrupt)
				list, err := again.List(t.Context(), 10)
				bad, err := store.Skipped(err)
				ok(t, "list", err)
				equal(t, "list", ids(list), "[2 1]")
				if bad == nil || len(bad.Records) != 1 {
					t.Errorf("%s: list named %v", raw, bad)
				}
				equal(t, "highest", highest(t, again), 10)
			}
		}},
		{"a corrupt record is mended by storing it again", func(t *testing.T, s Subject) {
			s.Plant(t, 1, `garbage`)
			put(t, s.Store, 1, 7, true)
			equal(t, "timestamp", load(t, s.Store, 1).Timestamp, 7)
			equal(t, "latest", latest(t, s.Store), 1)
		}},
		{"a corrupt record does not hide an older completed one from latest, which names it", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "1 done 2 done")
			s.Plant(t, 2, `garbage`)
			cp, err := s.Store.Latest(t.Context())
			is(t, "latest", err, store.ErrCorrupt)
			bad, err := store.Skipped(err)
			ok(t, "latest", err)
			if cp == nil || bad == nil {
				t.Fatalf("latest = %v beside %v", cp, bad)
			}
			equal(t, "latest", cp.ID, 1)
		}},
		{"unreadable ones alone are not none", func(t *testing.T, s Subject) {
			putAll(t, s.Store, "2 done")
			s.Plant(t, 2, `garbage`)
			cp, err := s.Store.Latest(t.Context())
			is(t, "latest", err, store.ErrCorrupt)
			if cp != nil {
				t.Errorf("latest = %v", cp)
			}
		}},
	}
}
