package redis_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
)

func Example() {
	ctx := context.Background()
	server, err := miniredis.Run() // or any Redis 6.2 or newer
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()

	s, err := redis.New(client, redis.Options{KeyPrefix: "example:checkpoint:"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Create(ctx, store.New(0, 1735689600000)); err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.Complete(ctx, 0, func(cp *store.Checkpoint) error {
		cp.State["user-count"] = 1000
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	latest, err := s.Latest(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	count, found, err := store.Get[int](latest.State, "user-count")
	fmt.Println(latest.ID, count, found, err)
	fmt.Println(client.Type(ctx, "example:checkpoint:0").Val())
	// Output:
	// 0 1000 true <nil>
	// string
}
