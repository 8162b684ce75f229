package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/events"
)

// levels is how deep objects and arrays nest in JSON text.
func levels(b []byte) (deepest int) {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// isObject tells by encoding/json whether the payload is what Decode may call JSON.
func isObject(b []byte) bool {
	return json.Valid(b) && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) && levels(b) <= 64
}

// FuzzDecode: whatever the bytes, Decode does not panic, accepts only JSON (as encoding/json understands it, which takes
// bytes that are not UTF-8 for U+FFFD, and so do we), calls only non-JSON bad syntax, and what it accepts is stable.
func FuzzDecode(f *testing.F) {
	for _, payload := range wireFiles(f) {
		f.Add(payload)
	}
	for _, s := range []string{
		``, `{`, `null`, `{"v":1}`, `{"v":2,"kind":"x","data":[]}`, `{"v":1,"kind":"task_lost","data":{"epoch":1,"epoch":2}}`,
		"{\"v\":1,\"kind\":\"task_registered\",\"data\":{\"task\":\"a\",\"instance\":\"i\",\"host\":\"\xff\\ud800\",\"x\xfe\":1e5}}",
		`{"data":{"checkpoint":0,"task":"a","epoch":1,"handle":{"inline":[ 1 ]}},"kind":"task_acked","v":1} `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		valid := isObject(payload)
		e, err := events.Decode("e", payload)
		if err == nil && !valid {
			t.Fatalf("accepts what is no JSON object: %q", payload)
		}
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) && !valid {
				t.Fatalf("not called malformed but %v: %q", err, payload)
			}
			if valid && strings.Contains(err.Error(), "not valid JSON") {
				t.Fatalf("takes JSON for none: %v: %q", err, payload)
			}
			return
		}
		first, err := e.Encode(nil)
		if err != nil {
			t.Fatalf("accepts what it does not write: %v: %q", err, payload)
		}
		again, err := events.Decode("e", first)
		if err != nil {
			t.Fatalf("writes what it does not read: %v: %q", err, first)
		}
		if !reflect.DeepEqual(e, again) {
			t.Fatalf("reads back\n%+v not\n%+v\nfrom %q", again, e, first)
		}
		if second, err := again.Encode(nil); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("writes %q then %q, %v", first, second, err)
		}
	})
}

// FuzzSyntax: as the value of an unknown member, any JSON is accepted and nothing else is.
func FuzzSyntax(f *testing.F) {
	for _, s := range []string{
		`null`, `-0.5E-7`, `"\u00e9\ud83d"`, `[1,{"a":[]}]`, "\"\xff\"", ` true `, `01`, `+1`, `.5`, `1.`, `"\x"`, `{"a":1,}`, `[1 2]`, "\"\x1f\"", `nul`, `{"a"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		payload := append([]byte(`{"v":1,"kind":"task_restored","data":{"task":"a","attempt":1,"x":[`), v...)
		payload = append(payload, `]}}`...)
		_, err := events.Decode("e", payload)
		array := append(append([]byte{'['}, v...), ']')
		if json.Valid(array) && levels(array) <= 62 && err != nil {
			t.Fatalf("refuses JSON: %v: %q", err, payload)
		}
		if !json.Valid(payload) && err == nil {
			t.Fatalf("accepts what is no JSON: %q", payload)
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"0-0", "1764453600000-12", "17", "-", "1-", "18446744073709551615-18446744073709551615", "+1-0", "01-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := events.ParsePosition(s)
		if err != nil {
			if !errors.Is(err, events.ErrInvalidID) || !p.IsZero() {
				t.Fatalf("%q: %s, %v", s, p, err)
			}
			return
		}
		if back, err := events.ParsePosition(p.String()); err != nil || back != p {
			t.Fatalf("%q is %s, and that %s, %v", s, p, back, err)
		}
		for _, c := range []byte(s) {
			if (c < '0' || c > '9') && c != '-' {
				t.Fatalf("%q is read as %s", s, p)
			}
		}
	})
}

func FuzzDecodeHandle(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"inline":null}`, `{"inline": {"a" : 1} }`, `{"chunks":[{"name":"a","digest":"` +
			`9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":1,"x":{}}],"y":[]}`, `[]`, `{"chunks":[null]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := events.DecodeHandle(b)
		if err == nil && !isObject(b) {
			t.Fatalf("accepts what is no JSON object: %q", b)
		}
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Fatalf("not called malformed but %v: %q", err, b)
			}
			return
		}
		if h.Bytes() < 0 {
			t.Fatalf("%d bytes: %q", h.Bytes(), b)
		}
		first, err := h.Encode(nil)
		if err != nil {
			t.Fatalf("accepts what it does not write: %v: %q", err, b)
		}
		if again, err := events.DecodeHandle(first); err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("reads back %+v not %+v, %v, from %q", again, h, err, first)
		}
		// What stands alone also stands in an ack, which wraps it in two more levels.
		ack := events.Envelope{Event: &events.TaskAcked{Task: "a", Epoch: 1, Handle: h}}
		if payload, err := ack.Encode(nil); err != nil {
			t.Fatalf("does not fit an ack: %v: %q", err, first)
		} else if _, err := events.Decode("e", payload); err != nil {
			t.Fatalf("cannot be read in an ack: %v: %q", err, payload)
		}
	})
}
