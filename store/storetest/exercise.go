package storetest

import (
	"testing"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// MaxRecord is the record limit that the suite expects of the stores of a [Subject], in bytes.
const MaxRecord = 1 << 20

// Subject is one empty store under test, and what the suite needs to know of its inside.
type Subject struct {
	// Store is empty.
	Store store.Store
	// Plant writes the bytes of a record as a foreign writer would: nothing of the store's takes part.
	Plant func(t testing.TB, id events.CheckpointID, raw string)
	// Reopen makes another store over the same records, which may see more of what was planted.
	Reopen func(t testing.TB) store.Store
}

// rule is one thing that a store must do.
type rule struct {
	name string
	test func(t *testing.T, s Subject)
}

// Exercise runs the contract of [store.Store] as tests, each on a new store of fresh.
func Exercise(t *testing.T, fresh func(t testing.TB) Subject) {
	t.Helper()
	runRules(t, fresh, recordRules())
	runRules(t, fresh, listRules())
	runRules(t, fresh, completeRules())
	runRules(t, fresh, cleanupRules())
	runRules(t, fresh, stateRules())
	runRules(t, fresh, foreignRules())
	runRules(t, fresh, raceRules())
}

func runRules(t *testing.T, fresh func(t testing.TB) Subject, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { r.test(t, fresh(t)) })
	}
}
