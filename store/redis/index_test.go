package redis_test

import (
	"context"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
)

// view is what the index decides: list, latest, highest.
func view(t testing.TB, s store.Store) string {
	t.Helper()
	list, err := s.List(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []events.CheckpointID
	for _, cp := range list {
		ids = append(ids, cp.ID)
	}
	latest := events.NoCheckpoint
	cp, err := s.Latest(t.Context())
	if err == nil {
		latest = cp.ID
	}
	high, err := s.HighestID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("list %v latest %v highest %v", ids, latest, high)
}

func TestIndexMendsItself(t *testing.T) {
	client := testredis.Start(t).Client(t)
	plant := func(id int, completed bool) func(context.Context, string) error {
		return func(ctx context.Context, prefix string) error {
			raw := fmt.Sprintf(`{"id":%d,"timestamp":%[1]d,"completed":%t}`, id, completed)
			return client.Set(ctx, fmt.Sprintf("%s%d", prefix, id), raw, 0).Err()
		}
	}
	del := func(keys ...string) func(context.Context, string) error {
		return func(ctx context.Context, prefix string) error {
			for _, k := range keys {
				if err := client.Del(ctx, prefix+k).Err(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	zadd := func(key, m string) func(context.Context, string) error {
		return func(ctx context.Context, prefix string) error {
			return client.ZAdd(ctx, prefix+key, goredis.Z{Member: m}).Err()
		}
	}
	for _, tc := range []struct {
		name string
		harm []func(context.Context, string) error
		want string
	}{
		{"nothing happens", nil, "list [3 2 1] latest 2 highest 3"},
		{"all of it is evicted", []func(context.Context, string) error{del("index", "index:time")}, "list [3 2 1] latest 2 highest 3"},
		{"the names are evicted", []func(context.Context, string) error{del("index")}, "list [3 2 1] latest 2 highest 3"},
		{"the times are evicted", []func(context.Context, string) error{del("index:time")}, "list [3 2 1] latest 2 highest 3"},
		{
			"it is evicted, and a stray member comes back",
			[]func(context.Context, string) error{del("index", "index:time"), zadd("index", "c0000000000000000001")},
			"list [3 2 1] latest 2 highest 3",
		},
		{"a foreigner deletes the latest", []func(context.Context, string) error{del("2")}, "list [3 1] latest 1 highest 3"},
		{"a foreigner reopens the latest", []func(context.Context, string) error{plant(2, false)}, "list [3 2 1] latest 1 highest 3"},
		{"a foreigner deletes everything", []func(context.Context, string) error{del("1", "2", "3")}, "list [] latest none highest 3"},
		{"a member is nonsense", []func(context.Context, string) error{zadd("index", "czzz"), zadd("index:time", "zzz")}, "list [3 2 1] latest 2 highest 3"},
		{"a foreigner adds one: it is seen at the next opening", []func(context.Context, string) error{plant(9, true)}, "list [3 2 1] latest 2 highest 3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prefix := fmt.Sprintf("i%d:", prefixes.Add(1))
			s := newStore(t, client, prefix)
			storeID(t, s, 1, true)
			storeID(t, s, 2, true)
			storeID(t, s, 3, false)
			if got := view(t, s); got != "list [3 2 1] latest 2 highest 3" {
				t.Fatalf("before: %s", got)
			}
			for _, b := range tc.harm {
				if err := b(t.Context(), prefix); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second time from the index as it was mended
				if got := view(t, s); got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
			}
		})
	}
}

func TestOpenFindsWhatForeignersLeftSinceAndNewStoresDoSo(t *testing.T) {
	client := testredis.Start(t).Client(t)
	s := newStore(t, client, "")
	storeID(t, s, 1, true)
	_ = view(t, s)
	if err := client.Set(t.Context(), "checkpoint:9", `{"id":9,"timestamp":9,"completed":true}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	trusting, err := redis.New(client, redis.Options{TrustIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := view(t, trusting); got != "list [1] latest 1 highest 1" {
		t.Errorf("trusting: %s", got)
	}
	if got := view(t, newStore(t, client, "")); got != "list [9 1] latest 9 highest 9" {
		t.Errorf("new: %s", got)
	}
	if err := client.Set(t.Context(), "checkpoint:10", `{"id":10,"timestamp":10,"completed":true}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := view(t, s); got != "list [10 9 1] latest 10 highest 10" {
		t.Errorf("opened again: %s", got)
	}
}

func TestTrustingStoreBuildsAnIndexWhereThereIsNone(t *testing.T) {
	client := testredis.Start(t).Client(t)
	if err := client.Set(t.Context(), "checkpoint:9", `{"id":9,"timestamp":9,"completed":true}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	s, err := redis.New(client, redis.Options{TrustIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := view(t, s); got != "list [9] latest 9 highest 9" {
		t.Error(got)
	}
}

func TestCleanupSparesWhatAForeignerCompleted(t *testing.T) {
	client := testredis.Start(t).Client(t)
	s := newStore(t, client, "")
	storeID(t, s, 1, true)
	storeID(t, s, 2, false)
	storeID(t, s, 3, false)
	_ = view(t, s)
	if err := client.Set(t.Context(), "checkpoint:2", `{"id":2,"timestamp":2,"completed":true}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	n, err := s.Cleanup(t.Context(), 1, nil)
	if err != nil || n != 2 {
		t.Errorf("removed %d, %v", n, err)
	}
	if got := view(t, s); got != "list [2] latest 2 highest 3" {
		t.Error(got)
	}
}

func TestForeignKeyOfAnotherTypeIsReportedAndBreaksNothing(t *testing.T) {
	client := testredis.Start(t).Client(t)
	if err := client.HSet(t.Context(), "checkpoint:5", "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, client, "")
	storeID(t, s, 1, true)
	list, err := s.List(t.Context(), 10)
	bad, err := store.Skipped(err)
	if err != nil || bad == nil || len(list) != 1 {
		t.Errorf("list %v, skipped %v, %v", list, bad, err)
	}
	if _, err := s.Load(t.Context(), 5); !store.Unreadable(err) {
		t.Errorf("load: %v", err)
	}
	if err := s.Create(t.Context(), store.New(5, 1)); !store.Unreadable(err) {
		t.Errorf("create: %v", err)
	}
	if got, err := s.Delete(t.Context(), 5); err != nil || !got {
		t.Errorf("delete: %t, %v", got, err)
	}
}

func TestListMendsATimeThatAForeignerChanged(t *testing.T) {
	client := testredis.Start(t).Client(t)
	s := newStore(t, client, "")
	storeID(t, s, 1, true)
	storeID(t, s, 2, true)
	_ = view(t, s)
	if err := client.Set(t.Context(), "checkpoint:1", `{"id":1,"timestamp":9,"completed":true}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{2, 1} { // a list that comes across it mends the index for all later ones
		list, err := s.List(t.Context(), limit)
		if err != nil || len(list) != limit || list[0].ID != 1 {
			t.Errorf("limit %d: %v, %v", limit, list, err)
		}
	}
}
