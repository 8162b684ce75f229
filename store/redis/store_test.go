package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var prefixes atomic.Int64

// subjects makes stores on one server, each under a prefix of its own, made from format.
func subjects(
	client goredis.UniversalClient, format string, wrap func(store.Store) store.Store,
) func(testing.TB) storetest.Subject {
	return func(t testing.TB) storetest.Subject {
		prefix := fmt.Sprintf(format, prefixes.Add(1))
		open := func(t testing.TB) store.Store { return wrap(newStore(t, client, prefix)) }
		return storetest.Subject{
			Store: open(t),
			Plant: func(t testing.TB, id events.CheckpointID, raw string) {
				if err := client.Set(t.Context(), prefix+id.String(), raw, 0).Err(); err != nil {
					t.Fatal(err)
				}
			},
			Reopen: open,
		}
	}
}

func newStore(t testing.TB, client goredis.UniversalClient, prefix string) *redis.Store {
	t.Helper()
	s, err := redis.New(client, redis.Options{KeyPrefix: prefix, MaxRecord: storetest.MaxRecord})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plain(s store.Store) store.Store { return s }

func faulty(s store.Store) store.Store { return storetest.NewFaulty(s, &storetest.Faults{}) }

func TestStoreKeepsTheContract(t *testing.T) {
	client := testredis.Start(t).Client(t)
	storetest.Exercise(t, subjects(client, "s%d:", plain))
}

func TestStoreKeepsTheContractBehindFaultsThatAreNotArmed(t *testing.T) {
	client := testredis.Start(t).Client(t)
	storetest.Exercise(t, subjects(client, "s%d:", faulty))
}

func TestStoreKeepsTheContractOnACluster(t *testing.T) {
	client := testredis.StartCluster(t, 3).Client(t)
	storetest.Exercise(t, subjects(client, "{s%d}:", plain))
}
