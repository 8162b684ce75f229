package redis_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

// TestStoreKeepsTheContractOnTheEmbeddedServer: what the demo runs on where no Redis is installed.
func TestStoreKeepsTheContractOnTheEmbeddedServer(t *testing.T) {
	storetest.Exercise(t, subjects(embedded(t), "s%d:", plain))
}

func TestJobKeepsTheContractOnTheEmbeddedServer(t *testing.T) {
	exerciseJob(t, embedded(t), func(j store.JobStore) store.JobStore { return j })
}

func embedded(t *testing.T) *goredis.Client {
	t.Helper()
	m := miniredis.RunT(t)
	m.ClockTTL(true)
	client := goredis.NewClient(&goredis.Options{
		Addr: m.Addr(), DisableIdentity: true, ReadTimeout: time.Minute, // its Lua is slow under the race detector
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
