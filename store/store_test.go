package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/store"
)

func TestNewCheckpointIsOpenEmptyAndCurrent(t *testing.T) {
	cp := store.New(7, 1234)
	if cp.ID != 7 || cp.Timestamp != 1234 || cp.Completed || cp.State == nil || len(cp.State) != 0 ||
		cp.Version != store.CurrentSnapshotVersion {
		t.Errorf("%+v", cp)
	}
	if store.CurrentSnapshotVersion != 1 || store.LegacySnapshotVersion != 0 {
		t.Error("the version constants are part of the contract")
	}
	cp.Complete()
	cp.Complete()
	if !cp.Completed {
		t.Error("not completed")
	}
	for _, want := range []string{"id=7", "ts=1234", "completed=true"} {
		if !strings.Contains(cp.String(), want) {
			t.Errorf("%q is not in %q", want, cp)
		}
	}
}

func TestStateIsAMap(t *testing.T) {
	s := store.New(1, 1).State
	s["a"], s["b"] = 1, "x"
	s["a"] = 2
	if len(s) != 2 || s["a"] != 2 {
		t.Errorf("%v", s)
	}
	clear(s)
	if _, found, err := store.Get[int](s, "a"); found || err != nil {
		t.Errorf("found %t, %v after clear", found, err)
	}
}

type named struct {
	Name  string
	Count int64
}

func TestTypedRead(t *testing.T) {
	s := store.State{
		"int": 42, "int64": int64(math.MaxInt64), "float": 2.5, "text": "x", "nil": nil, "bytes": "AP8B",
		"map": map[string]any{"name": "cog", "count": int64(3)}, "list": []any{int64(1), int64(2)},
	}
	check(t, s, "int", 42, true)
	check(t, s, "int", int64(42), true)
	check(t, s, "int", 42.0, true)
	check(t, s, "int", uint8(42), true)
	check(t, s, "int64", int64(math.MaxInt64), true)
	check(t, s, "float", float32(2.5), true)
	check(t, s, "map", named{"cog", 3}, true)
	check(t, s, "list", []int{1, 2}, true)
	check(t, s, "list", []any{int64(1), int64(2)}, true)
	check(t, s, "bytes", []byte{0, 255, 1}, true)
	check(t, s, "text", any("x"), true)
	check(t, s, "missing", 0, false)
	check(t, s, "nil", "", false)
	refuse[string](t, s, "int", "int", "string")
	refuse[int](t, s, "text", "string", "int")
	refuse[int](t, s, "float", "float64", "int")
	refuse[int32](t, s, "int64", "int64", "int32")
	refuse[uint](t, store.State{"neg": -1}, "neg", "int", "uint")
	refuse[named](t, s, "list", "[]interface {}", "store_test.named")
	refuse[[]byte](t, store.State{"text": "no base64!"}, "text", "string", "[]uint8")
}

func check[T any](t *testing.T, s store.State, key string, want T, found bool) {
	t.Helper()
	got, ok, err := store.Get[T](s, key)
	if err != nil || ok != found || !cmp.Equal(got, want) {
		t.Errorf("Get[%T](%s) = %v, %t, %v", want, key, got, ok, err)
	}
}

func refuse[T any](t *testing.T, s store.State, key, stored, wanted string) {
	t.Helper()
	_, ok, err := store.Get[T](s, key)
	var te *store.TypeError
	if ok || !errors.As(err, &te) || te.Key != key || te.Stored != stored || te.Wanted != wanted || te.Unwrap() == nil {
		t.Errorf("Get(%s) as %s = %t, %v", key, wanted, ok, err)
	}
	for _, want := range []string{key, stored, wanted} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestCloneIsDeep(t *testing.T) {
	cp := store.New(1, 1)
	cp.State["m"] = map[string]any{"n": 1}
	cp.Extra = map[string]json.RawMessage{"x": json.RawMessage(`[1]`)}
	clone, err := cp.Clone()
	if err != nil {
		t.Fatal(err)
	}
	cp.State["m"].(map[string]any)["n"] = 2
	cp.Extra["x"][1] = '9'
	if n := clone.State["m"].(map[string]any)["n"]; n != int64(1) {
		t.Errorf("n = %v", n)
	}
	if string(clone.Extra["x"]) != "[1]" {
		t.Errorf("extra = %s", clone.Extra["x"])
	}
}

func TestFlippedBitIsFoundOrHarmless(t *testing.T) {
	cp := store.New(1, 1)
	cp.State["k"], cp.Nonce = "value", "n"
	raw, err := store.EncodeRecord(cp, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			flipped := append([]byte{}, raw...)
			flipped[i] ^= 1 << bit
			got, err := store.DecodeRecord("key", 1, flipped, 0)
			if err == nil {
				got.Extra = nil // the name of the checksum itself became an unknown one
				if !cmp.Equal(got, cp) {
					t.Errorf("bit %d of byte %d: %s", bit, i, flipped)
				}
			} else if !store.Unreadable(err) {
				t.Errorf("error %v", err)
			}
		}
	}
}

func TestCutRecordIsCorrupt(t *testing.T) {
	raw, err := store.EncodeRecord(store.New(1, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range raw {
		if _, err := store.DecodeRecord("key", 1, raw[:n], 0); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestEncodingRefuses(t *testing.T) {
	for name, change := range map[string]func(*store.Checkpoint){
		"a known name as extra": func(c *store.Checkpoint) { c.Extra = map[string]json.RawMessage{"state": []byte("{}")} },
		"an extra that is none": func(c *store.Checkpoint) { c.Extra = map[string]json.RawMessage{"x": []byte("{")} },
		"a long nonce":          func(c *store.Checkpoint) { c.Nonce = strings.Repeat("n", 129) },
		"a nonce not UTF-8":     func(c *store.Checkpoint) { c.Nonce = "\xff" },
		"a key not UTF-8":       func(c *store.Checkpoint) { c.State["\xff"] = 1 },
		"a negative id":         func(c *store.Checkpoint) { c.ID = -1 },
	} {
		cp := store.New(1, 1)
		change(cp)
		if _, err := store.EncodeRecord(cp, 0); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := store.EncodeRecord(store.New(1, 1), 10); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("limit: %v", err)
	}
	if _, err := store.DecodeRecord("key", 1, make([]byte, 11), 10); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("limit: %v", err)
	}
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	_, err := store.DecodeRecord("checkpoint:1", 1, []byte(`{"id":1,"timestamp":1,"version":2}`), 0)
	var ve *store.VersionError
	if !errors.As(err, &ve) || ve.Version != 2 || ve.ID != 1 || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v", err)
	}
	_, err = store.DecodeRecord("checkpoint:1", 1, []byte(`x`), 0)
	var ce *store.CorruptError
	if !errors.As(err, &ce) || ce.Key != "checkpoint:1" || ce.Reason == "" || !strings.Contains(err.Error(), "checkpoint:1") {
		t.Errorf("%v", err)
	}
	if _, rest := store.Skipped(err); rest == nil {
		t.Error("a failure was taken for something skipped")
	}
	if s, rest := store.Skipped(&store.SkippedError{Records: []error{err}}); s == nil || rest != nil || !errors.Is(s, store.ErrCorrupt) {
		t.Errorf("%v, %v", s, rest)
	}
}

// TestFormatPageIsTrue decodes every record that docs/store-format.md shows.
func TestFormatPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/store-format.md")
	if err != nil {
		t.Fatal(err)
	}
	records := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindAllSubmatch(page, -1)
	records = append(records, regexp.MustCompile("redis-cli SET checkpoint:7 '(.*)'").FindAllSubmatch(page, -1)...)
	if len(records) != 3 {
		t.Fatalf("%d records found", len(records))
	}
	for _, r := range records {
		cp, err := store.DecodeRecord("page", 7, r[1], 0)
		if err != nil || cp.Timestamp != 1735689600000 {
			t.Errorf("%s: %v, %v", r[1], cp, err)
		}
		if strings.Contains(string(r[1]), "crc32c") {
			if b, err := store.EncodeRecord(cp, 0); err != nil || string(b) != string(r[1]) {
				t.Errorf("page says\n%s, we write\n%s, %v", r[1], b, err)
			}
		}
	}
}
