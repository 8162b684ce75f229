package events_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
)

func TestEveryEventSurvivesARoundTrip(t *testing.T) {
	for _, k := range events.Kinds() {
		t.Run(string(k), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := genEnvelope(k).Draw(t, "envelope")
				payload, err := want.Encode(nil)
				if err != nil {
					t.Fatal(err)
				}
				if !json.Valid(payload) {
					t.Fatalf("not JSON: %s", payload)
				}
				got, err := events.Decode(want.ID, payload)
				if err != nil {
					t.Fatalf("%v: %s", err, payload)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s\n%s", diff, payload)
				}
				again, err := got.Encode(nil)
				if err != nil || !bytes.Equal(payload, again) {
					t.Fatalf("first\n%s\nthen\n%s\n%v", payload, again, err)
				}
			})
		})
	}
}

// A writer in another language puts members in its own order, spreads them over lines and escapes what it likes.
func TestOrderSpaceAndEscapesOfTheWriterDoNotMatter(t *testing.T) {
	for name, payload := range wireFiles(t) {
		want, err := events.Decode("e-1", payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(payload, &members); err != nil {
			t.Fatal(err)
		}
		sorted, err := json.Marshal(members) // "data" before "kind" before "v"
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, payload, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		escaped := bytes.ReplaceAll(payload, []byte(`"kind":`), []byte(`"k\u0069nd" : `))
		for how, b := range map[string][]byte{"sorted": sorted, "spaced": spaced.Bytes(), "escaped": escaped} {
			got, err := events.Decode("e-1", b)
			if err != nil {
				t.Fatalf("%s %s: %v", name, how, err)
			}
			if diff := cmp.Diff(want, got, rawEqual); diff != "" {
				t.Errorf("%s %s: %s", name, how, diff)
			}
		}
	}
}

// rawEqual compares raw JSON, unknown members and inline state, without its space and the order of members.
var rawEqual = cmp.Comparer(func(a, b []byte) bool {
	return canonical("{"+string(a)+"}") == canonical("{"+string(b)+"}") || canonical(string(a)) == canonical(string(b))
})

func canonical(s string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return s
	}
	return string(b)
}

func TestTheLastOfTwoEqualMembersCounts(t *testing.T) {
	payload := `{"v":1,"kind":"task_acked","at":1,"at":2,"data":{"checkpoint":1,"checkpoint":2,"task":"a","task":"b","epoch":1,` +
		`"attempt":4,"attempt":null,"handle":{"chunks":[],"inline":1,"inline":2},"handle":{"inline":3,"x":1},` +
		`"measures":{"bytes":9,"bytes":8},"measures":{"records":7},"y":1,"y":2}}`
	want := events.Envelope{ID: "e", At: 2, Event: &events.TaskAcked{
		Checkpoint: 2, Task: "b", Epoch: 1,
		Handle:   events.StateHandle{Inline: []byte("3"), Unknown: events.Unknown(`"x":1`)},
		Measures: events.Measures{Records: 7},
		Unknown:  events.Unknown(`"y":1,"y":2`),
	}}
	got, err := events.Decode("e", []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNullIsAsGoodAsAbsent(t *testing.T) {
	payload := `{"v":1,"kind":"task_acked","job":null,"at":null,"data":{"checkpoint":1,"task":"a","epoch":1,"attempt":null,` +
		`"handle":null,"joining_event":null,"measures":{"bytes":null}}}`
	want := events.Envelope{ID: "e", Event: &events.TaskAcked{Checkpoint: 1, Task: "a", Epoch: 1}}
	got, err := events.Decode("e", []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBytesThatAreNoTextBecomeReplacementCharacters(t *testing.T) {
	e := events.Envelope{ID: "e", Event: &events.TaskLost{Epoch: 1, Task: "a", Attempt: 1, Text: "a\xffb"}}
	payload, err := e.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{string(payload), strings.ReplaceAll(string(payload), "\ufffd", "\xc3"), strings.ReplaceAll(string(payload), "\ufffd", `\udead`)} {
		got, err := events.Decode("e", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Event.(*events.TaskLost).Text; text != "a\ufffdb" {
			t.Errorf("%s: text is %q", in, text)
		}
	}
}

func TestMeasuresBelowZeroAreReadAndWrittenAsUnknown(t *testing.T) {
	ack := &events.TaskAcked{Checkpoint: 1, Task: "a", Epoch: 1, Measures: events.Measures{Sync: -5}}
	if !ack.Measures.IsZero() {
		t.Error("a stepped clock counts as measured")
	}
	payload, err := events.Envelope{Event: ack}.Encode(nil)
	if err != nil || bytes.Contains(payload, []byte("measures")) {
		t.Errorf("%s, %v", payload, err)
	}
	in := `{"v":1,"kind":"task_acked","data":{"checkpoint":1,"task":"a","epoch":1,"measures":{"sync_ms":-9223372036854775808,"bytes":3}}}`
	got, err := events.Decode("e", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(events.Measures{Bytes: 3}, got.Event.(*events.TaskAcked).Measures); diff != "" {
		t.Error(diff)
	}
}

func TestInlineStateIsWrittenWithoutSpaceAndNullIsNone(t *testing.T) {
	for in, want := range map[string]string{" {\"a\": 1}\n": `{"inline":{"a": 1}}`, " null ": `{}`, "": `{}`} {
		h := events.StateHandle{Inline: []byte(in)}
		b, err := h.Encode(nil)
		if err != nil || string(b) != want {
			t.Errorf("%q is written as %s, %v; want %s", in, b, err, want)
		}
		if h.IsZero() != (want == "{}") {
			t.Errorf("%q: IsZero is %v", in, h.IsZero())
		}
	}
}

func TestDecodeKeepsNoReferenceToItsInput(t *testing.T) {
	for name, want := range wireFiles(t) {
		payload := bytes.Clone(want)
		e, err := events.Decode("e", payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		clear(payload)
		if got, err := e.Encode(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: after the input was overwritten: %s, %v", name, got, err)
		}
	}
}

func TestEncodeAppendsBehindWhatIsThere(t *testing.T) {
	e := events.Envelope{Event: &events.TaskRestored{Task: "a", Attempt: 1, Checkpoint: events.NoCheckpoint}}
	alone, err := e.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range []string{"x", "{", "["} {
		if got, err := e.Encode([]byte(head)); err != nil || string(got) != head+string(alone) {
			t.Errorf("behind %q: %s, %v", head, got, err)
		}
	}
}
