package redis_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
)

// onScan calls do after each SCAN, and read after each batch of records.
type onScan struct {
	do   func(n int)
	read func()
	n    int
}

func (h *onScan) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *onScan) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		err := next(ctx, cmds)
		if h.read != nil && cmds[0].Name() == "getrange" {
			h.read()
		}
		return err
	}
}

func (h *onScan) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "scan" {
			h.n++
			h.do(h.n)
		}
		return err
	}
}

func scanning(t *testing.T, do func(client *goredis.Client, n int)) *redis.Store {
	t.Helper()
	server := testredis.Start(t)
	plain, hooked := server.Client(t), server.Client(t)
	for _, id := range []string{"1", "2"} {
		if err := plain.Set(t.Context(), "checkpoint:"+id, `{"id":`+id+`,"timestamp":1,"completed":true}`, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	hooked.AddHook(&onScan{do: func(n int) { do(plain, n) }})
	return newStore(t, hooked, "")
}

func TestIndexLostWhileItIsBuiltIsBuiltAgain(t *testing.T) {
	s := scanning(t, func(client *goredis.Client, n int) {
		if n == 1 {
			client.Del(t.Context(), "checkpoint:index")
		}
	})
	if got := view(t, s); got != "list [2 1] latest 2 highest 2" {
		t.Error(got)
	}
}

func TestIndexThatIsAlwaysLostIsAnErrorAndNotNone(t *testing.T) {
	s := scanning(t, func(client *goredis.Client, _ int) { client.Del(t.Context(), "checkpoint:index:time") })
	if cp, err := s.Latest(t.Context()); err == nil || errors.Is(err, store.ErrNone) {
		t.Errorf("latest %v, %v", cp, err)
	}
}

func TestRecordWrittenWhileTheIndexIsBuiltIsInIt(t *testing.T) {
	var other *redis.Store
	s := scanning(t, func(client *goredis.Client, n int) {
		if n == 1 {
			other = newStore(t, client, "")
			storeID(t, other, 9, true)
			if _, err := other.Delete(t.Context(), 1); err != nil {
				t.Error(err)
			}
		}
	})
	if got := view(t, s); got != "list [9 2] latest 9 highest 9" {
		t.Error(got)
	}
}

// TestCleanupDeletesOnlyWhatItHasRead completes the record between the moment when it was read as open and its removal.
func TestCleanupDeletesOnlyWhatItHasRead(t *testing.T) {
	server := testredis.Start(t)
	other := newStore(t, server.Client(t), "")
	storeID(t, other, 1, false)
	storeID(t, other, 2, false)
	hooked := server.Client(t)
	s := newStore(t, hooked, "")
	_ = view(t, s)
	var once sync.Once
	hooked.AddHook(&onScan{do: func(int) {}, read: func() {
		once.Do(func() {
			if _, err := other.Complete(t.Context(), 1, nil); err != nil {
				t.Error(err)
			}
		})
	}})
	if n, err := s.Cleanup(t.Context(), 1, nil); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if got := view(t, other); got != "list [1] latest 1 highest 2" {
		t.Error(got)
	}
}

func TestManyOpenersShareOneIndex(t *testing.T) {
	client := testredis.Start(t).Client(t)
	s := newStore(t, client, "")
	storeID(t, s, 3, true)
	var wg sync.WaitGroup
	for range 8 {
		for _, s := range []*redis.Store{s, newStore(t, client, "")} {
			wg.Go(func() {
				if cp, err := s.Latest(t.Context()); err != nil || cp.ID != 3 {
					t.Errorf("latest %v, %v", cp, err)
				}
			})
		}
	}
	wg.Wait()
}

func TestWaitingForAnOpenerEndsWithTheContext(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{}) // closed by the hook, and by the test
	s := scanning(t, func(_ *goredis.Client, n int) {
		if n == 1 {
			close(entered)
			<-leave
		}
	})
	opened := make(chan error, 1) // one send, room for it
	go func() { opened <- s.Open(t.Context()) }()
	<-entered
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no patience")
	cancel(why)
	if err := s.Open(ctx); !errors.Is(err, why) {
		t.Errorf("open: %v", err)
	}
	close(leave)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
