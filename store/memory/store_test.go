package memory_test

import (
	"testing"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func subject(s *memory.Store, wrap func(store.Store) store.Store) storetest.Subject {
	return storetest.Subject{
		Store:  wrap(s),
		Plant:  func(_ testing.TB, id events.CheckpointID, raw string) { s.PutRaw(id, []byte(raw)) },
		Reopen: func(testing.TB) store.Store { return wrap(s) },
	}
}

func plain(s store.Store) store.Store { return s }

func TestStoreKeepsTheContract(t *testing.T) {
	storetest.Exercise(t, func(testing.TB) storetest.Subject {
		return subject(memory.New(memory.Options{MaxRecord: storetest.MaxRecord}), plain)
	})
}

func TestStoreKeepsTheContractBehindFaultsThatAreNotArmed(t *testing.T) {
	storetest.Exercise(t, func(testing.TB) storetest.Subject {
		return subject(memory.New(memory.Options{MaxRecord: storetest.MaxRecord}), func(s store.Store) store.Store {
			return storetest.NewFaulty(s, &storetest.Faults{})
		})
	})
}
