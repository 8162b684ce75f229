package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tidemark-stream/tidemark/store"
)

func newFramer(t testing.TB, limit int64) *store.Framer {
	t.Helper()
	f, err := store.NewFramer(limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// forge frames a payload that says of itself what it likes.
func forge(digest []byte, codec byte, raw, payload uint32, content []byte) []byte {
	b := append([]byte("TMCH"), 1, codec, 0, 0)
	b = binary.BigEndian.AppendUint32(b, raw)
	b = binary.BigEndian.AppendUint32(b, payload)
	return append(append(b, digest...), content...)
}

func TestFrameOfTheSameContentIsTheSame(t *testing.T) {
	f, other := newFramer(t, 0), newFramer(t, 0)
	data := bytes.Repeat([]byte("some state, "), 10_000)
	want, ref, err := f.Encode(data)
	if err != nil || ref.Bytes != int64(len(want)) || ref.Bytes > 1000 {
		t.Fatalf("%v, %v", ref, err)
	}
	var wg sync.WaitGroup
	for _, framer := range []*store.Framer{f, other, f, f, f, f} {
		wg.Go(func() {
			got, _, err := framer.Encode(data)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("another frame, %v", err)
			}
			if back, err := framer.Decode("key", ref.Digest, got); err != nil || !bytes.Equal(back, data) {
				t.Errorf("another content, %v", err)
			}
		})
	}
	wg.Wait()
}

func TestDecodedContentIsTheCallers(t *testing.T) {
	f := newFramer(t, 0)
	frame, ref, err := f.Encode([]byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Decode("key", ref.Digest, frame)
	if err != nil {
		t.Fatal(err)
	}
	got[0] = 'x'
	if again, err := f.Decode("key", ref.Digest, frame); err != nil || string(again) != "abc" {
		t.Errorf("%s, %v", again, err)
	}
}

// A newer release's chunk is no damage: what reads it wrongly must not throw it away.
func TestAFrameOfANewerVersionIsNotCorrupt(t *testing.T) {
	f := newFramer(t, 1<<20)
	frame, ref, err := f.Encode([]byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[byte]error{0: store.ErrCorrupt, 2: store.ErrVersion} {
		frame[4] = version
		if _, err := f.Decode("key", ref.Digest, frame); !errors.Is(err, want) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func TestBombIsAnError(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	f := newFramer(t, limit)
	big := make([]byte, 64<<20)
	bomb := enc.EncodeAll(big, nil)
	pair := append(enc.EncodeAll([]byte("four"), nil), bomb...)
	digest := bytes.Repeat([]byte{0xab}, 32)
	name := "abababababababababababababababababababababababababababababababab"
	for what, tc := range map[string]struct {
		frame []byte
		want  error
	}{
		"says what it is":           {forge(digest, 1, uint32(len(big)), uint32(len(bomb)), bomb), store.ErrTooLarge},
		"says less":                 {forge(digest, 1, limit, uint32(len(bomb)), bomb), store.ErrCorrupt},
		"says next to nothing":      {forge(digest, 1, 1, uint32(len(bomb)), bomb), store.ErrCorrupt},
		"says it is none at all":    {forge(digest, 1, 0, uint32(len(bomb)), bomb), store.ErrCorrupt},
		"is hidden behind another":  {forge(digest, 1, 4, uint32(len(pair)), pair), store.ErrCorrupt},
		"has no payload":            {forge(digest, 1, 10, 0, nil), store.ErrCorrupt},
		"payload of another length": {forge(digest, 1, 10, 9, []byte("x")), store.ErrCorrupt},
	} {
		if _, err := f.Decode("key", name, tc.frame); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestDecodingABombTakesNoMoreThanTheLimit(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	f := newFramer(t, limit)
	bomb := enc.EncodeAll(make([]byte, 64<<20), nil)
	frame := forge(make([]byte, 32), 1, limit, uint32(len(bomb)), bomb)
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, err := f.Decode("key", "0000000000000000000000000000000000000000000000000000000000000000", frame); err == nil {
				b.Fatal("decoded")
			}
		}
	})
	if per := r.AllocedBytesPerOp(); per > 4*limit {
		t.Errorf("%d bytes for a limit of %d", per, limit)
	}
}

func TestEveryChangedByteOfAFrameIsFound(t *testing.T) {
	f := newFramer(t, 1<<20)
	for _, data := range [][]byte{[]byte("incompressible"), bytes.Repeat([]byte("a"), 500)} {
		frame, ref, err := f.Encode(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range frame {
			harmed := bytes.Clone(frame)
			harmed[i] ^= 0x41
			got, err := f.Decode("key", ref.Digest, harmed)
			if err == nil && !bytes.Equal(got, data) || err != nil && !store.Unreadable(err) {
				t.Errorf("byte %d: %q, %v", i, got, err)
			}
			if _, err := f.Decode("key", ref.Digest, frame[:i]); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
	}
}

func TestFrameLimits(t *testing.T) {
	if _, _, err := newFramer(t, 10).Encode(make([]byte, 11)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("encode: %v", err)
	}
	frame, ref, err := newFramer(t, 0).Encode(make([]byte, 11))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newFramer(t, 10).Decode("key", ref.Digest, frame); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("decode: %v", err)
	}
	for _, limit := range []int64{-1, 1 << 32} {
		if _, err := store.NewFramer(limit); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}
