package events_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/events"
)

func TestEncodeRefusesWhatDecodeWouldRefuse(t *testing.T) {
	good := func() *events.TaskAcked { return &events.TaskAcked{Checkpoint: 1, Task: "a", Epoch: 1} }
	with := func(change func(e *events.TaskAcked)) events.Envelope {
		e := good()
		change(e)
		return events.Envelope{Event: e}
	}
	chunk := events.ChunkRef{Name: "a", Digest: events.Digest(strings.Repeat("0", 64))}
	deep := events.Unknown(`"x":` + wrap(60))
	policy := events.Policy{Count: 1, MaxConcurrent: 1, Retain: 1, QueueLimit: 1}
	for name, e := range map[string]events.Envelope{
		"no event":              {},
		"job that breaks a key": {Job: "a:b", Event: good()},
		"time below 0":          {At: -1, Event: good()},
		"no task":               with(func(e *events.TaskAcked) { e.Task = "" }),
		"no checkpoint":         with(func(e *events.TaskAcked) { e.Checkpoint = events.NoCheckpoint }),
		"attempt below 0":       with(func(e *events.TaskAcked) { e.Attempt = -1 }),
		"chunk without name":    with(func(e *events.TaskAcked) { e.Handle.Chunks = []events.ChunkRef{{}} }),
		"chunk of negative size": with(func(e *events.TaskAcked) {
			chunk := chunk
			chunk.Bytes = -1
			e.Handle.Chunks = []events.ChunkRef{chunk}
		}),
		"chunk with broken members": with(func(e *events.TaskAcked) {
			chunk := chunk
			chunk.Unknown = []byte(`x`)
			e.Handle.Chunks = []events.ChunkRef{chunk}
		}),
		"inline that is no JSON":     with(func(e *events.TaskAcked) { e.Handle.Inline = []byte(`{"a":`) }),
		"inline of two values":       with(func(e *events.TaskAcked) { e.Handle.Inline = []byte(`1 2`) }),
		"inline of only space":       with(func(e *events.TaskAcked) { e.Handle.Inline = []byte(` `) }),
		"inline nested too deep":     with(func(e *events.TaskAcked) { e.Handle.Inline = []byte(wrap(62)) }),
		"broken members":             with(func(e *events.TaskAcked) { e.Unknown = []byte(`"x":1,`) }),
		"members without comma":      with(func(e *events.TaskAcked) { e.Unknown = []byte(`"x":1 "y":2`) }),
		"members that end the event": with(func(e *events.TaskAcked) { e.Unknown = []byte(`"x":1},"y":{"z":1`) }),
		"measures nested too deep":   with(func(e *events.TaskAcked) { e.Measures.Unknown = []byte(`"x":` + wrap(62)) }),
		"handle nested too deep":     with(func(e *events.TaskAcked) { e.Handle.Unknown = []byte(`"x":` + wrap(62)) }),
		"envelope with broken members": {
			Event: good(), Unknown: []byte(`"x"`),
		},
		"policy with broken members": {Event: &events.CoordinatorStarted{Epoch: 1, Instance: "c", Policy: func() events.Policy {
			policy := policy
			policy.Unknown = []byte(`{}`)
			return policy
		}()}},
		"attempt with broken members": {Event: &events.CheckpointTriggered{
			Epoch: 1, Type: events.TypeCheckpoint, Tasks: []events.TaskAttempt{{Task: "a", Attempt: 1, Unknown: []byte(`"`)}},
		}},
		"restored checkpoint unsaid": {Event: &events.TaskFinished{Task: "a", Attempt: 1, Checkpoint: events.NoCheckpoint}},
		"no reason":                  {Event: &events.TaskDeclined{Task: "a", Epoch: 1}},
		"pid below 0":                {Event: &events.TaskRegistered{Task: "a", Instance: "i", PID: -1}},
	} {
		b, err := e.Encode([]byte("kept"))
		if !errors.Is(err, events.ErrMalformed) || string(b) != "kept" {
			t.Errorf("%s: Encode gives %s, %v", name, b, err)
		}
	}
	if _, err := with(func(e *events.TaskAcked) { e.Unknown = deep; e.Handle.Inline = []byte(wrap(61)) }).Encode(nil); err != nil {
		t.Errorf("as deep as allowed: %v", err)
	}
}

func TestHandlesAreReadAndWrittenAlone(t *testing.T) {
	in := `{"chunks":[{"name":"a","digest":"` + strings.Repeat("0", 64) + `","bytes":5}],"inline":[1],"x":2}`
	h, err := events.DecodeHandle([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.Encode(nil); err != nil || string(got) != in {
		t.Errorf("Encode gives %s, %v", got, err)
	}
	if h.Bytes() != 5+3 || h.IsZero() {
		t.Errorf("Bytes is %d, IsZero %v", h.Bytes(), h.IsZero())
	}
	huge := events.ChunkRef{Bytes: math.MaxInt64}
	if n := (events.StateHandle{Chunks: []events.ChunkRef{huge, huge}}).Bytes(); n != math.MaxInt64 {
		t.Errorf("sizes beyond 64 bits add up to %d", n)
	}
	for _, bad := range []string{``, `null`, `[]`, `{`, `{}x`, `{"chunks":[{}]}`, `{"inline":` + wrap(62) + `}`} {
		if h, err := events.DecodeHandle([]byte(bad)); !errors.Is(err, events.ErrMalformed) || !h.IsZero() {
			t.Errorf("DecodeHandle(%.40s) gives %+v, %v", bad, h, err)
		}
	}
	if b, err := (events.StateHandle{Inline: []byte("{")}).Encode([]byte("kept")); !errors.Is(err, events.ErrMalformed) || string(b) != "kept" {
		t.Errorf("Encode of a broken handle gives %s, %v", b, err)
	}
}

func TestAnEnvelopeKnowsItsKind(t *testing.T) {
	if k := (events.Envelope{}).Kind(); k != "" {
		t.Errorf("an empty envelope is a %q", k)
	}
	if k := (events.Envelope{Event: &events.TaskLost{}}).Kind(); k != events.KindTaskLost || k.String() != "task_lost" {
		t.Errorf("a lost task is a %q", k)
	}
}
