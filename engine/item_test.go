package engine_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// frozenItems are items as version 1 writes them. They must be readable for ever: lines are only ever added.
var frozenItems = map[string]string{
	"a source at the start":      "53 01 00 00 00",
	"a source at record 300":     "53 01 d804 ac9d01 00",
	"a source that has ended":    "53 01 02 02 01",
	"a watermark before records": "57 01 ffffffffffffffffff01 00",
	"a watermark, idle":          "57 01 ec0e 01",
	"a union of two":             "55 02 ffffffffffffffffff01 00 02 ffffffffffffffffff01 00 ec0e 01",
	"a slice of 5 rows":          "4c 01 05",
	"the times of an operator":   "43 01 ffffffffffffffffff01 ec0e",
	"three subtasks":             "50 01 03",
	"an exchange, at the start": "58 01 02 02 ffffffffffffffffff01 00 02 ffffffffffffffffff01 00 ffffffffffffffffff01 00 " +
		"ffffffffffffffffff01 00 02 ffffffffffffffffff01 00 ffffffffffffffffff01 00 00 00 00 00",
	"an exchange with a record and a watermark under way": "58 01 02 02 ec0e 00 02 ec0e 00 f00e 01 ec0e 00 02 ec0e 00 f00e 00 " +
		"00 02 00 01 ec0e 02 00 01 61 0a 01 00 f00e 00 00 00 00 00 00",
	"a file without parts": "46 01 00 00",
	"no transactions":      "54 01 06 737472696e67 00",
	"two transactions":     "54 01 06 737472696e67 02 0e 03 02 6f31 8001 01 00",
	"a file with one part": "46 01 01 01 08 6f 2e 70 61 72 74 2d 31 0a ffffffff0f",
}

func frozen(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestItemsOfVersion1AreReadable(t *testing.T) {
	for name, text := range frozenItems {
		b := frozen(t, text)
		again, err := engine.DecodeItem(b[0], b)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: %x, %v", name, again, err)
		}
		if _, err := engine.DecodeItem(b[0], append([]byte{b[0], 3}, b[2:]...)); !errors.Is(err, engine.ErrVersion) {
			t.Errorf("%s of version 3: %v", name, err)
		}
	}
	// Layout 1 of a union is still read.
	old := frozen(t, "55 01 02 ffffffffffffffffff01 ec0e")
	if now, err := engine.DecodeItem('U', old); err != nil || !bytes.Equal(now, frozen(t, "55 02 ffffffffffffffffff01 00 02 ffffffffffffffffff01 00 ec0e 00")) {
		t.Errorf("a union of layout 1: %x, %v", now, err)
	}
	// A part's name must not lead out of the directory.
	for _, name := range []string{"../x", "a/b", "..", "."} {
		b := append([]byte{'F', 1, 0, 1, byte(len(name))}, name...)
		if _, err := engine.DecodeItem('F', append(b, 1, 0)); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("part named %q: %v", name, err)
		}
	}
}

func FuzzDecodeItem(f *testing.F) {
	for _, text := range frozenItems {
		f.Add(frozen(f, text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		once, err := engine.DecodeItem(b[0], b)
		if err != nil {
			return
		}
		if twice, err := engine.DecodeItem(b[0], once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x, then %x: %v", once, twice, err)
		}
	})
}
