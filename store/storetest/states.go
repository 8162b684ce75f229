package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/store"
)

var errCancelled = errors.New("cancelled by the test")

func cancelled(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCancelled)
	return ctx, func() { cancel(nil) }
}

// thing is an object of a caller's own type.
type thing struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

func stateRules() []rule {
	return []rule{
		{"values come back as the types that State promises", func(t *testing.T, s Subject) {
			got := roundTrip(t, s, store.State{
				"int": 42, "text": "test", "list": []int{1, 2, 3}, "float": 3.0, "flag": true,
				"big": int64(math.MaxInt64), "small": int64(math.MinInt64), "huge": uint64(math.MaxUint64),
				"object": thing{"cog", 3}, "nested": map[string]any{"n": 9007199254740993},
				"exotic <&>\u2028 \"": "\x00ü",
			})
			want := store.State{
				"int": int64(42), "text": "test", "list": []any{int64(1), int64(2), int64(3)}, "float": 3.0, "flag": true,
				"big": int64(math.MaxInt64), "small": int64(math.MinInt64), "huge": uint64(math.MaxUint64),
				"object": map[string]any{"name": "cog", "count": int64(3)}, "nested": map[string]any{"n": int64(9007199254740993)},
				"exotic <&>\u2028 \"": "\x00ü",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}},
		{"a plain object and bytes read typed are equal to the originals", func(t *testing.T, s Subject) {
			got := roundTrip(t, s, store.State{"object": thing{"cog", 3}, "bytes": []byte{0, 255, 1}})
			object, found, err := store.Get[thing](got, "object")
			if err != nil || !found || object != (thing{"cog", 3}) {
				t.Errorf("object = %v, %v, %v", object, found, err)
			}
			b, found, err := store.Get[[]byte](got, "bytes")
			if err != nil || !found || string(b) != "\x00\xff\x01" {
				t.Errorf("bytes = %v, %v, %v", b, found, err)
			}
		}},
		{"a nil value keeps its key and reads as none", func(t *testing.T, s Subject) {
			got := roundTrip(t, s, store.State{"nothing": nil})
			if _, listed := got["nothing"]; !listed || len(got) != 1 {
				t.Errorf("state = %v, want the key", got)
			}
			_, found, err := store.Get[string](got, "nothing")
			if found || err != nil {
				t.Errorf("Get = %t, %v; want none", found, err)
			}
		}},
		{"numbers beyond 64 bits keep their text", func(t *testing.T, s Subject) {
			s.Plant(t, 1, `{"id":1,"timestamp":5,"state":{"n":123456789012345678901234567890,"d":0.12345678901234567890,"e":1e999}}`)
			cp := load(t, s.Store, 1)
			ok(t, "store", s.Store.Store(t.Context(), cp))
			want := store.State{
				"n": json.Number("123456789012345678901234567890"), "d": json.Number("0.12345678901234567890"), "e": json.Number("1e999"),
			}
			if diff := cmp.Diff(want, load(t, s.Store, 1).State); diff != "" {
				t.Error(diff)
			}
		}},
		{"what the caller changes afterwards does not change the record", func(t *testing.T, s Subject) {
			inner := map[string]any{"n": 1}
			list := []any{"a"}
			cp := store.New(1, 1)
			cp.State["inner"], cp.State["list"] = inner, list
			ok(t, "store", s.Store.Store(t.Context(), cp))
			inner["n"], list[0], cp.State["more"] = 2, "b", true
			got := load(t, s.Store, 1)
			want := store.State{"inner": map[string]any{"n": int64(1)}, "list": []any{"a"}}
			if diff := cmp.Diff(want, got.State); diff != "" {
				t.Error(diff)
			}
			got.State["inner"].(map[string]any)["n"] = 3
			if diff := cmp.Diff(want, load(t, s.Store, 1).State); diff != "" {
				t.Error("a loaded one is shared: " + diff)
			}
		}},
		{"what JSON cannot hold is refused, and nothing is written", func(t *testing.T, s Subject) {
			cycle := map[string]any{}
			cycle["self"] = cycle
			for name, v := range map[string]any{
				"not a number": math.NaN(), "infinite": math.Inf(1), "channel": make(chan int), "not UTF-8": "\xff", "cycle": cycle,
			} {
				cp := store.New(1, 1)
				cp.State[name] = v
				is(t, name, s.Store.Store(t.Context(), cp), store.ErrInvalid)
			}
			equal(t, "left", left(t, s.Store), "[]")
		}},
		{"a record over the limit is refused, and nothing is written", func(t *testing.T, s Subject) {
			cp := store.New(1, 1)
			cp.State["big"] = make([]byte, MaxRecord)
			is(t, "create", s.Store.Create(t.Context(), cp), store.ErrTooLarge)
			equal(t, "left", left(t, s.Store), "[]")
		}},
	}
}

func roundTrip(t *testing.T, s Subject, state store.State) store.State {
	t.Helper()
	cp := store.New(1, 1)
	cp.State = state
	ok(t, "store", s.Store.Store(t.Context(), cp))
	return load(t, s.Store, 1).State
}
