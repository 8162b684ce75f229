package events_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/events"
)

// edit is a minimal payload of the kind with old replaced; old must stand in it.
func edit(t *testing.T, kind events.Kind, old, replacement string) []byte {
	t.Helper()
	payload := string(wireFiles(t)[string(kind)+".minimal.json"])
	if !strings.Contains(payload, old) {
		t.Fatalf("no %s in %s", old, payload)
	}
	return []byte(strings.Replace(payload, old, replacement, 1))
}

func wantRefused(t *testing.T, payload []byte, sentinel error, says string) {
	t.Helper()
	e, err := events.Decode("e", payload)
	if !errors.Is(err, sentinel) {
		t.Fatalf("Decode gives %v, want %v: %.200s", err, sentinel, payload)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("the error %q does not say %q", err, says)
	}
	if e.ID != "e" || e.Event != nil {
		t.Errorf("a refused payload gives %+v", e)
	}
}

func TestDecodeRefusesABrokenEnvelope(t *testing.T) {
	const data = `"data":{"task":"a","attempt":1}`
	for name, tc := range map[string]struct {
		payload  string
		sentinel error
		says     string
	}{
		"nothing":                 {``, events.ErrMalformed, "a value at byte 0"},
		"only space":              {" \n", events.ErrMalformed, "a value"},
		"no object":               {`[1]`, events.ErrMalformed, "an object"},
		"null":                    {`null`, events.ErrMalformed, "an object"},
		"cut off":                 {`{"v":1,"kind":"task_restored",`, events.ErrMalformed, "a string"},
		"cut off in a text":       {`{"v":1,"kind":"task_res`, events.ErrMalformed, `'"'`},
		"cut off in an escape":    {`{"v":1,"kind":"a\`, events.ErrMalformed, "an escape"},
		"bad escape":              {`{"v":1,"kind":"\x"}`, events.ErrMalformed, "a known escape"},
		"bad hex":                 {`{"v":1,"kind":"\u12g4"}`, events.ErrMalformed, "four hex digits"},
		"newline in a text":       {"{\"v\":1,\"kind\":\"a\nb\"}", events.ErrMalformed, "control character"},
		"more after it":           {`{"v":1,"kind":"task_restored",` + data + `} x`, events.ErrMalformed, "nothing more"},
		"two values":              {`{"v":1,"kind":"task_restored",` + data + `}{}`, events.ErrMalformed, "nothing more"},
		"trailing comma":          {`{"v":1,"kind":"task_restored",` + data + `,}`, events.ErrMalformed, "a string"},
		"no comma":                {`{"v":1 "kind":"x"}`, events.ErrMalformed, "','"},
		"no colon":                {`{"v" 1}`, events.ErrMalformed, "':'"},
		"name without quotes":     {`{v:1}`, events.ErrMalformed, "a string"},
		"leading zero":            {`{"v":01,"kind":"task_restored",` + data + `}`, events.ErrMalformed, "','"},
		"version as text":         {`{"v":"1","kind":"task_restored",` + data + `}`, events.ErrMalformed, "field v"},
		"version as float":        {`{"v":1.0,"kind":"task_restored",` + data + `}`, events.ErrMalformed, "64-bit integer"},
		"no version":              {`{"kind":"task_restored",` + data + `}`, events.ErrUnknownVersion, "0"},
		"version 0":               {`{"v":0,"kind":"task_restored",` + data + `}`, events.ErrUnknownVersion, "0"},
		"version 2":               {`{"v":2,"kind":"task_restored","data":[7]}`, events.ErrUnknownVersion, "2; this build reads 1"},
		"version 2 behind data":   {`{"kind":"task_restored","data":[7],"v":2}`, events.ErrUnknownVersion, "2"},
		"no kind":                 {`{"v":1,` + data + `}`, events.ErrUnknownKind, `""`},
		"unknown kind":            {`{"v":1,"kind":"task_danced",` + data + `}`, events.ErrUnknownKind, "task_danced"},
		"kind of other case":      {`{"v":1,"kind":"Task_Restored",` + data + `}`, events.ErrUnknownKind, "Task_Restored"},
		"kind as number":          {`{"v":1,"kind":7,` + data + `}`, events.ErrMalformed, "want a string, not 7"},
		"no data":                 {`{"v":1,"kind":"task_restored"}`, events.ErrMalformed, "no data"},
		"null data":               {`{"v":1,"kind":"task_restored","data":null}`, events.ErrMalformed, "attempt is missing"},
		"data as list":            {`{"v":1,"kind":"task_restored","data":[]}`, events.ErrMalformed, "an object"},
		"data as text":            {`{"v":1,"kind":"task_restored","data":"{}"}`, events.ErrMalformed, "an object"},
		"two versions":            {`{"v":1,"kind":"task_restored",` + data + `,"v":1}`, events.ErrMalformed, "v: stands twice"},
		"two kinds":               {`{"v":1,"kind":"task_restored",` + data + `,"kind":"task_lost"}`, events.ErrMalformed, "kind: stands twice"},
		"two data":                {`{"v":1,"kind":"task_restored",` + data + `,` + data + `}`, events.ErrMalformed, "data: stands twice"},
		"job that breaks a key":   {`{"v":1,"kind":"task_restored","job":"a{b","at":1,` + data + `}`, events.ErrInvalidID, "job"},
		"job as number":           {`{"v":1,"kind":"task_restored","job":7,` + data + `}`, events.ErrMalformed, "field job"},
		"time below 0":            {`{"v":1,"kind":"task_restored","at":-1,` + data + `}`, events.ErrMalformed, "field at"},
		"time beyond 64 bits":     {`{"v":1,"kind":"task_restored","at":9223372036854775808,` + data + `}`, events.ErrMalformed, "64-bit"},
		"bad data before kind":    {`{"data":{"task":"a","attempt":true},"v":1,"kind":"task_restored"}`, events.ErrMalformed, "field attempt"},
		"bad unknown member":      {`{"v":1,"kind":"task_restored","x":tru,` + data + `}`, events.ErrMalformed, "true"},
		"unknown number":          {`{"x":1.,"v":1}`, events.ErrMalformed, "a digit"},
		"unknown number of signs": {`{"x":-,"v":1}`, events.ErrMalformed, "a digit"},
		"unknown exponent":        {`{"x":1e,"v":1}`, events.ErrMalformed, "a digit"},
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, []byte(tc.payload), tc.sentinel, tc.says) })
	}
}

// Each case changes one thing in the minimal file of a kind.
func TestDecodeRefusesImpossibleData(t *testing.T) {
	digest := strings.Repeat("0", 64)
	handle := func(h string) string { return `"epoch":1,"handle":` + h + `}` }
	for _, tc := range []struct {
		kind             events.Kind
		old, replacement string
		says             string
	}{
		{events.KindCoordinatorStarted, `"epoch":1`, `"epoch":0`, "epoch is missing"},
		{events.KindCoordinatorStarted, `"epoch":1`, `"epoch":-1`, "epoch is missing"},
		{events.KindCoordinatorStarted, `"epoch":1`, `"epoch":null`, "epoch is missing"},
		{events.KindCoordinatorStarted, `"epoch":1`, `"epoch":1e3`, "64-bit integer, not 1e3"},
		{events.KindCoordinatorStarted, `"epoch":1`, `"epoch":{}`, "64-bit integer, not {}"},
		{events.KindCoordinatorStarted, `"instance":"c-1",`, ``, "instance is empty"},
		{events.KindCoordinatorStarted, `"c-1"`, `"c 1"`, "instance"},
		{events.KindCoordinatorStarted, `"c-1"`, `7`, "want a string, not 7"},
		{events.KindCoordinatorStarted, `"policy":{`, `"x":{`, "exactly one of tasks and count"},
		{events.KindCoordinatorStarted, `"policy":{`, `"policy":3,"x":{`, "an object"},
		{events.KindCoordinatorStarted, `"count":3`, `"count":3,"tasks":["a"]`, "exactly one"},
		{events.KindCoordinatorStarted, `"count":3`, `"count":-3`, "exactly one"},
		{events.KindCoordinatorStarted, `"count":3`, `"tasks":["a","a"]`, "task a stands twice"},
		{events.KindCoordinatorStarted, `"count":3`, `"tasks":["a",null]`, "[1]: task is empty"},
		{events.KindCoordinatorStarted, `"count":3`, `"tasks":["a b"]`, "task"},
		{events.KindCoordinatorStarted, `"count":3`, `"tasks":"a"`, "an array"},
		{events.KindCoordinatorStarted, `"interval_ms":0`, `"interval_ms":-1`, "interval_ms"},
		{events.KindCoordinatorStarted, `"min_pause_ms":0`, `"min_pause_ms":-1`, "min_pause_ms"},
		{events.KindCoordinatorStarted, `"max_concurrent":1`, `"max_concurrent":0`, "max_concurrent"},
		{events.KindCoordinatorStarted, `"retain":1`, `"retain":0`, "retain"},
		{events.KindCoordinatorStarted, `"queue_limit":1`, `"queue_limit":0`, "queue_limit"},
		{events.KindCheckpointRequested, `"request":"r-1",`, ``, "request is empty"},
		{events.KindCheckpointRequested, `,"type":"checkpoint"`, ``, "type"},
		{events.KindCheckpointRequested, `"type":"checkpoint"`, `"type":"snapshot"`, "snapshot"},
		{events.KindAbortRequested, `"request":"r-2",`, ``, "request is empty"},
		{events.KindAbortRequested, `,"up_to":0`, ``, "up_to is missing"},
		{events.KindAbortRequested, `"up_to":0`, `"up_to":-1`, "below 0"},
		{events.KindRequestRefused, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindRequestRefused, `"request":"r-1",`, ``, "request is empty"},
		{events.KindRequestRefused, `"tasks_not_ready"`, `"no"`, `"no" is not one of`},
		{events.KindCheckpointTriggered, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindCheckpointTriggered, `"checkpoint":0,`, ``, "checkpoint is missing"},
		{events.KindCheckpointTriggered, `"checkpoint":0`, `"checkpoint":-1`, "below 0"},
		{events.KindCheckpointTriggered, `"type":"checkpoint"`, `"type":""`, "type"},
		{events.KindCheckpointTriggered, `"type":"checkpoint"`, `"type":"checkpoint","request":"a:b"`, "request"},
		{events.KindCheckpointTriggered, `"count":3,`, ``, "exactly one of tasks and count"},
		{events.KindCheckpointTriggered, `"count":3`, `"count":3,"tasks":[{"task":"a","attempt":1}]`, "exactly one"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[{"task":"a","attempt":1}],"count":-1`, "count"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[{"task":"a"}]`, "attempt is missing"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[{"attempt":1}]`, "task is empty"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[null]`, "task is empty"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[{"task":"a*","attempt":1}]`, "task"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[{"task":"b","attempt":1},{"task":"a","attempt":1}]`, "in order"},
		{events.KindCheckpointTriggered, `"count":3`, `"tasks":[{"task":"a","attempt":1},{"task":"a","attempt":2}]`, "twice"},
		{events.KindTaskRegistered, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskRegistered, `,"instance":"w-1"`, ``, "instance is empty"},
		{events.KindTaskRegistered, `"w-1"`, `"w-1","pid":-1`, "pid"},
		{events.KindTaskRegistered, `"flights-0"`, `"` + strings.Repeat("a", 129) + `"`, "longer than 128"},
		{events.KindTaskRestored, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskRestored, `,"attempt":1`, ``, "attempt is missing"},
		{events.KindTaskRestored, `"attempt":1`, `"attempt":-1`, "attempt is missing"},
		{events.KindTaskRestored, `"attempt":1`, `"attempt":1,"checkpoint":-1`, "below 0"},
		{events.KindTaskFinished, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskFinished, `"attempt":1,`, ``, "attempt is missing"},
		{events.KindTaskFinished, `,"checkpoint":0`, ``, "checkpoint is missing"},
		{events.KindTaskLeft, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskLeft, `,"attempt":1`, ``, "attempt is missing"},
		{events.KindTaskLost, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindTaskLost, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskLost, `,"attempt":1`, ``, "attempt is missing"},
		{events.KindTaskAcked, `"checkpoint":0,`, ``, "checkpoint is missing"},
		{events.KindTaskAcked, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskAcked, `,"epoch":1`, ``, "epoch is missing"},
		{events.KindTaskAcked, `"epoch":1`, `"epoch":1,"attempt":-1`, "attempt"},
		{events.KindTaskAcked, `"epoch":1`, `"epoch":1,"measures":[]`, "an object"},
		{events.KindTaskAcked, `"epoch":1`, `"epoch":1,"measures":{"bytes":"9"}`, "field measures: field bytes"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`"h"`), "an object"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":{}}`), "an array"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":[7]}`), "an object"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":[{}]}`), "chunk has no name"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":[{"name":"a"}]}`), "digest"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":[{"name":"a","digest":"` + digest + `","bytes":-1}]}`), "bytes"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":[{"name":"a","digest":"` + digest[1:] + `"}]}`), "63 characters"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"chunks":[{"name":"a","digest":"` + digest[1:] + `F"}]}`), "lower-case hex"},
		{events.KindTaskAcked, `"epoch":1}`, handle(`{"inline":"` + strings.Repeat("x", events.MaxInline) + `"}`), "put it into chunks"},
		{events.KindTaskDeclined, `"checkpoint":0,`, ``, "checkpoint is missing"},
		{events.KindTaskDeclined, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskDeclined, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindTaskDeclined, `"epoch":1`, `"epoch":1,"attempt":-4`, "attempt"},
		{events.KindTaskDeclined, `,"reason":"other"`, ``, "reason"},
		{events.KindTaskDeclined, `"other"`, `"OTHER"`, "reason"},
		{events.KindCheckpointCompleted, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindCheckpointCompleted, `"checkpoint":0,`, ``, "checkpoint is missing"},
		{events.KindCheckpointCompleted, `"bytes":0`, `"bytes":-1`, "bytes"},
		{events.KindCheckpointCompleted, `"bytes":0`, `"forced":1`, "true or false, not 1"},
		{events.KindCheckpointCompleted, `"bytes":0`, `"forced":"true"`, "true or false"},
		{events.KindCheckpointFailed, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindCheckpointFailed, `"checkpoint":0,`, ``, "checkpoint is missing"},
		{events.KindCheckpointFailed, `"expired"`, `"bored"`, "bored"},
		{events.KindCheckpointFailed, `"expired"`, `"expired","missing":["a/b"]`, "missing[0]"},
		{events.KindCheckpointFailed, `"expired"`, `"expired","missing":[""]`, "task is empty"},
		{events.KindCheckpointsRetired, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindCheckpointsRetired, `[0]`, `[]`, "checkpoints is missing"},
		{events.KindCheckpointsRetired, `[0]`, `[0,-1]`, "[1]: checkpoint -1 is below 0"},
		{events.KindCheckpointsRetired, `[0]`, `[0,null]`, "no checkpoint"},
		{events.KindCheckpointsRetired, `[0]`, `[0 1]`, "',' or ']'"},
		{events.KindCheckpointsWithdrawn, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindCheckpointsWithdrawn, `[0]`, `[]`, "checkpoints is missing"},
		{events.KindCheckpointsWithdrawn, `[0]`, `[0],"request":"a b"`, "request"},
		{events.KindWithdrawalRequested, `"request":"r-3",`, ``, "request is empty"},
		{events.KindWithdrawalRequested, `,"checkpoint":0`, ``, "checkpoint is missing"},
		{events.KindWithdrawalRequested, `"checkpoint":0`, `"checkpoint":0,"forced":"yes"`, "true or false"},
		{events.KindTaskRestoreFailed, `"task":"flights-0",`, ``, "task is empty"},
		{events.KindTaskRestoreFailed, `"attempt":1,`, ``, "attempt is missing"},
		{events.KindTaskRestoreFailed, `"checkpoint":0,`, ``, "checkpoint is missing"},
		{events.KindTaskRestoreFailed, `"chunk_missing"`, `"schema"`, "schema"},
		{events.KindStateDiscarded, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindStateDiscarded, `"checkpoints":[0]`, `"checkpoints":null`, "checkpoints is missing"},
		{events.KindLogTrimmed, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindLogTrimmed, `,"before":"0-1"`, ``, "before is missing"},
		{events.KindLogTrimmed, `"0-1"`, `"0-0"`, "before is missing"},
		{events.KindLogTrimmed, `"0-1"`, `"yesterday"`, "ms-seq"},
		{events.KindLogTrimmed, `"0-1"`, `1`, "want a string"},
		{events.KindLogGapFound, `"epoch":1,`, ``, "epoch is missing"},
		{events.KindLogGapFound, `"deleted"`, `"eaten"`, "eaten"},
		{events.KindLogGapFound, `"deleted"`, `"deleted","after":"-1"`, "ms-seq"},
	} {
		t.Run(fmt.Sprintf("%s with %.60s", tc.kind, tc.replacement), func(t *testing.T) {
			wantRefused(t, edit(t, tc.kind, tc.old, tc.replacement), events.ErrMalformed, tc.says)
		})
	}
}

// Text is scanned eight bytes at a time, so each byte is tried at each place of such a group.
func TestEachByteOfATextIsJudgedAsByEncodingJSON(t *testing.T) {
	const head, tail = `{"v":1,"kind":"task_lost","data":{"epoch":1,"task":"a","attempt":1,"text":"`, `"}}`
	for place := range 18 {
		for c := range 256 {
			text := []byte("123456789012345678")
			text[place] = byte(c)
			payload := append(append([]byte(head), text...), tail...)
			_, err := events.Decode("e", payload)
			if want := json.Valid(payload); want != (err == nil) {
				t.Fatalf("%q: JSON %v, but %v", text, want, err)
			}
		}
	}
}

func TestInlineStateHasAtMostMaxInlineBytes(t *testing.T) {
	ack := &events.TaskAcked{Task: "a", Epoch: 1}
	ack.Handle.Inline = []byte(`"` + strings.Repeat("x", events.MaxInline-2) + `"`)
	if payload, err := (events.Envelope{Event: ack}).Encode(nil); err != nil {
		t.Error(err)
	} else if _, err := events.Decode("e", payload); err != nil {
		t.Error(err)
	}
	ack.Handle.Inline = []byte(`"` + strings.Repeat("x", events.MaxInline-1) + `"`)
	if _, err := (events.Envelope{Event: ack}).Encode(nil); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("one byte more is encoded: %v", err)
	}
}

// wrap puts n levels around nothing.
func wrap(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestAPayloadNestsAtMost64Levels(t *testing.T) {
	// Level 1 is the envelope, 2 the data, 3 the handle.
	for where, tc := range map[string]struct{ level1, format string }{
		"in the envelope": {"1", `{"v":1,"kind":"task_acked","data":{"checkpoint":0,"task":"a","epoch":1},"x":%s}`},
		"in the data":     {"2", `{"v":1,"kind":"task_acked","data":{"checkpoint":0,"task":"a","epoch":1,"x":%s}}`},
		"before the kind": {"2", `{"data":{"checkpoint":0,"task":"a","epoch":1,"x":%s},"v":1,"kind":"task_acked"}`},
		"inline":          {"3", `{"v":1,"kind":"task_acked","data":{"checkpoint":0,"task":"a","epoch":1,"handle":{"inline":%s}}}`},
	} {
		room := 64 - int(tc.level1[0]-'0')
		if _, err := events.Decode("e", fmt.Appendf(nil, tc.format, wrap(room))); err != nil {
			t.Errorf("%s: %d levels: %v", where, room, err)
		}
		wantRefused(t, fmt.Appendf(nil, tc.format, wrap(room+1)), events.ErrMalformed, "deeper than 64 levels")
		wantRefused(t, fmt.Appendf(nil, tc.format, strings.Repeat("[", 1<<20)), events.ErrMalformed, "deeper than 64 levels")
	}
}

func TestAPayloadHasAtMostMaxPayloadBytes(t *testing.T) {
	e := events.Envelope{Event: &events.TaskLost{Epoch: 1, Task: "a", Attempt: 1}}
	empty, err := e.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	room := events.MaxPayload - len(empty) - len(`,"text":""`)
	e.Event.(*events.TaskLost).Text = strings.Repeat("x", room)
	full, err := e.Encode(nil)
	if err != nil || len(full) != events.MaxPayload {
		t.Fatalf("%d bytes: %v", len(full), err)
	}
	if _, err := events.Decode("e", full); err != nil {
		t.Errorf("the largest payload: %v", err)
	}
	wantRefused(t, append(full, ' '), events.ErrMalformed, "more than 8388608")
	e.Event.(*events.TaskLost).Text += "x"
	if b, err := e.Encode([]byte("kept")); !errors.Is(err, events.ErrMalformed) || string(b) != "kept" {
		t.Errorf("one byte more is encoded: %d bytes, %v", len(b), err)
	}
}
