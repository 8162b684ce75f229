package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/redis"
)

// kinds are what an error can be to a caller.
var kinds = []error{
	store.ErrNone, store.ErrNotFound, store.ErrExists, store.ErrCompleted, store.ErrInvalid, store.ErrCorrupt, store.ErrVersion,
}

// answer is what a call told, in a form that can be compared between implementations.
func answer(err error, result any) string {
	text := fmt.Sprintf("%v", result)
	for _, k := range kinds {
		if errors.Is(err, k) {
			text += " / " + k.Error()
		}
	}
	if err == nil {
		text += " / ok"
	}
	return text
}

// pair is one history run on both implementations.
type pair struct {
	ctx    context.Context //nolint:containedctx // of the one check that owns the pair
	stores [2]store.Store
	plant  [2]func(id events.CheckpointID, raw string)
}

func (p *pair) both(t *rapid.T, op string, call func(s store.Store) (any, error)) {
	var said [2]string
	for i, s := range p.stores {
		result, err := call(s)
		said[i] = answer(err, result)
	}
	if said[0] != said[1] {
		t.Fatalf("%s: memory says %q, redis says %q", op, said[0], said[1])
	}
}

func drawID(t *rapid.T) events.CheckpointID {
	return events.CheckpointID(rapid.IntRange(0, 7).Draw(t, "id"))
}

func drawCheckpoint(t *rapid.T) *store.Checkpoint {
	cp := store.New(drawID(t), rapid.Int64Range(-3, 3).Draw(t, "ts"))
	cp.Completed = rapid.Bool().Draw(t, "completed")
	cp.State["v"] = rapid.Int64().Draw(t, "v")
	return cp
}

func (p *pair) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create": func(t *rapid.T) {
			cp := drawCheckpoint(t)
			cp.Nonce = rapid.SampledFrom([]string{"", "a"}).Draw(t, "nonce")
			p.both(t, "create", func(s store.Store) (any, error) { return nil, s.Create(p.ctx, cp) })
		},
		"store": func(t *rapid.T) {
			cp := drawCheckpoint(t)
			p.both(t, "store", func(s store.Store) (any, error) { return nil, s.Store(p.ctx, cp) })
		},
		"complete": func(t *rapid.T) {
			id := drawID(t)
			p.both(t, "complete", func(s store.Store) (any, error) { return s.Complete(p.ctx, id, nil) })
		},
		"delete": func(t *rapid.T) {
			id := drawID(t)
			p.both(t, "delete", func(s store.Store) (any, error) { return s.Delete(p.ctx, id) })
		},
		"cleanup": func(t *rapid.T) {
			keep, pin := rapid.IntRange(-1, 5).Draw(t, "keep"), drawID(t)
			p.both(t, "cleanup", func(s store.Store) (any, error) {
				return s.Cleanup(p.ctx, keep, func(id events.CheckpointID) bool { return id == pin })
			})
		},
		"damage": func(t *rapid.T) {
			id := drawID(t)
			raw := rapid.SampledFrom([]string{"garbage", `{"id":%d,"timestamp":0,"version":9}`}).Draw(t, "raw")
			if raw[0] == '{' {
				raw = fmt.Sprintf(raw, id)
			}
			if _, err := p.stores[0].Load(p.ctx, id); errors.Is(err, store.ErrNotFound) {
				return // a foreign record that the index does not know is another test
			}
			for _, plant := range p.plant {
				plant(id, raw)
			}
		},
		"list": func(t *rapid.T) {
			limit := rapid.IntRange(0, 9).Draw(t, "limit")
			p.both(t, "list", func(s store.Store) (any, error) {
				list, err := s.List(p.ctx, limit)
				_, err = store.Skipped(err) // which unreadable ones a short list comes across is not promised
				return ids(list), err
			})
		},
		"latest": func(t *rapid.T) {
			p.both(t, "latest", func(s store.Store) (any, error) { return latest(s.Latest(p.ctx)) })
		},
		"highest": func(t *rapid.T) { p.both(t, "highest", func(s store.Store) (any, error) { return s.HighestID(p.ctx) }) },
		"":        p.compare,
	}
}

// compare is run after each action: all records are the same.
func (p *pair) compare(t *rapid.T) {
	for id := range events.CheckpointID(8) {
		a, errA := p.stores[0].Load(p.ctx, id)
		b, errB := p.stores[1].Load(p.ctx, id)
		if diff := cmp.Diff(a, b, cmpopts.IgnoreFields(store.Checkpoint{}, "Nonce")); diff != "" || answer(errA, "") != answer(errB, "") {
			t.Fatalf("record %v: %v, %v\n%s", id, errA, errB, diff)
		}
	}
}

func ids(list []*store.Checkpoint) []events.CheckpointID {
	var out []events.CheckpointID
	for _, cp := range list {
		out = append(out, cp.ID)
	}
	return out
}

// latest keeps which checkpoint it is, and drops which unreadable ones were met: the memory does not remember whether a
// damaged record was completed once.
func latest(cp *store.Checkpoint, _ error) (any, error) {
	if cp != nil {
		return cp.ID, nil
	}
	return nil, nil
}

// TestMemoryAndRedisAgreeOnEveryHistory runs random histories, damage included, on both.
func TestMemoryAndRedisAgreeOnEveryHistory(t *testing.T) {
	client := testredis.Start(t).Client(t)
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		prefix := fmt.Sprintf("m%d:", prefixes.Add(1))
		r, err := redis.New(client, redis.Options{KeyPrefix: prefix})
		if err != nil {
			rt.Fatal(err)
		}
		m := memory.New(memory.Options{})
		p := &pair{ctx: ctx, stores: [2]store.Store{m, r}}
		p.plant[0] = func(id events.CheckpointID, raw string) { m.PutRaw(id, []byte(raw)) }
		p.plant[1] = func(id events.CheckpointID, raw string) {
			if err := client.Set(ctx, prefix+id.String(), raw, 0).Err(); err != nil {
				rt.Fatal(err)
			}
		}
		rt.Repeat(p.actions())
	})
}
