package coordinator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store/memory"
)

// A server that was just started answers LOADING for a while; a coordinator that starts then waits for it, but not for ever.
func TestAStartWaitsForASavedFoldThatCannotBeReadYet(t *testing.T) {
	loading := errors.New("LOADING Redis is loading the dataset in memory")
	for name, c := range map[string]struct {
		lasts time.Duration
		want  error
	}{
		"for a while":       {20 * time.Second, nil},
		"for a day is less": {24 * time.Hour, loading},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				log := memlog.New(memlog.Config{Job: "late", Fault: func(_ context.Context, op memlog.Op) memlog.Outcome {
					if op == memlog.OpLoadFold && time.Since(began) < c.lasts {
						return memlog.Refuse(loading)
					}
					return memlog.Outcome{}
				}})
				co, err := coordinator.Open(t.Context(), coordinator.Config{
					Job: "late", Log: log, Store: memory.New(memory.Options{}), RequiredAcks: 1,
				})
				if !errors.Is(err, c.want) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
				if err == nil {
					if err := co.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
