package eventlog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

func TestGapTellsHowTheAnchorGotLost(t *testing.T) {
	at := func(ms uint64) events.Position { return events.Position{Ms: ms} }
	anchor := at(50)
	for name, tc := range map[string]struct {
		state eventlog.StreamState
		want  events.GapCause
	}{
		"no stream at all":                            {eventlog.StreamState{Removed: -1}, events.GapDeleted},
		"begun anew, nothing was ever taken out":      {eventlog.StreamState{Exists: true, First: at(60), Last: at(70)}, events.GapDeleted},
		"begun anew, on a server that does not count": {eventlog.StreamState{Exists: true, First: at(60), Last: at(70), Removed: -1}, events.GapTrimmed},
		"trimmed":            {eventlog.StreamState{Exists: true, First: at(60), Last: at(70), Removed: 9}, events.GapTrimmed},
		"trimmed to nothing": {eventlog.StreamState{Exists: true, Last: at(50), Removed: 9}, events.GapTrimmed},
		"the end went back":  {eventlog.StreamState{Exists: true, First: at(10), Last: at(40)}, events.GapFailover},
		"the end went back, and all before it is trimmed": {eventlog.StreamState{Exists: true, Last: at(40), Removed: 4}, events.GapFailover},
		"the end went back and grew past the anchor":      {eventlog.StreamState{Exists: true, First: at(10), Last: at(70)}, events.GapFailover},
	} {
		want := &eventlog.Gap{After: anchor, Before: tc.state.First, Cause: tc.want}
		if diff := cmp.Diff(want, tc.state.Gap(anchor)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAStepOfAppendIsBounded(t *testing.T) {
	small, large := eventlog.Wire{Payload: make([]byte, 100)}, eventlog.Wire{Payload: make([]byte, 3<<20)}
	huge := eventlog.Wire{Payload: make([]byte, 8<<20)}
	many := make([]eventlog.Wire, 600)
	for name, tc := range map[string]struct {
		wires []eventlog.Wire
		want  int
	}{
		"nothing":                     {nil, 0},
		"few":                         {[]eventlog.Wire{small, small}, 2},
		"by number":                   {many, eventlog.MaxAppend},
		"by bytes":                    {[]eventlog.Wire{small, large, large}, 2},
		"one that is larger, alone":   {[]eventlog.Wire{huge, small}, 1},
		"one that is larger, not yet": {[]eventlog.Wire{small, huge}, 1},
	} {
		if got := eventlog.NextStep(tc.wires); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestACopyOfPoisonIsBounded(t *testing.T) {
	var fields []eventlog.Field
	for range 100 {
		fields = append(fields, eventlog.Field{Name: []byte("n"), Value: []byte(strings.Repeat("x", 300))})
	}
	p := eventlog.NewPoison(eventlog.PoisonNoID, strings.Repeat("t", 9999), fields, 30_100)
	kept := 0
	for _, f := range p.Fields {
		kept += len(f.Name) + len(f.Value)
	}
	if kept > eventlog.MaxPoison || kept < eventlog.MaxPoison-301 || len(p.Text) > 512 || p.Size != 30_100 {
		t.Errorf("kept %d bytes in %d fields, %d of text, size %d", kept, len(p.Fields), len(p.Text), p.Size)
	}
	fields[0].Value[0] = 'y'
	if p.Fields[0].Value[0] != 'x' {
		t.Error("the copy shares memory with the entry")
	}
}

func TestWhatIsNotJSONIsAnError(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"epoch":"x"}`, `{"attempt":"x"}`, `{"instance":"a b"}`} {
		if _, err := eventlog.DecodeControl([]byte(text)); err == nil && text != `{"attempt":"x"}` {
			t.Errorf("control %q was read", text)
		}
		if _, err := eventlog.DecodeAssignment([]byte(text)); err == nil && text != `{"epoch":"x"}` {
			t.Errorf("assignment %q was read", text)
		}
		if _, err := eventlog.DecodePresence([]byte(text)); err == nil && text != `{"epoch":"x"}` {
			t.Errorf("presence %q was read", text)
		}
	}
}

func TestErrorsAreWhatTheySayTheyAre(t *testing.T) {
	cause := errors.New("cut")
	err := error(&eventlog.UnknownOutcomeError{Op: "append", Err: cause})
	if !errors.Is(err, eventlog.ErrUnknownOutcome) || !errors.Is(err, cause) || errors.Is(err, eventlog.ErrFenced) {
		t.Errorf("%v", err)
	}
	if err := error(&eventlog.LeaseHeldError{Instance: "a"}); !errors.Is(err, eventlog.ErrLeaseHeld) {
		t.Errorf("%v", err)
	}
}

func TestIDsAreValidAndDiffer(t *testing.T) {
	a, b := eventlog.NewEventID(), eventlog.NewEventID()
	if _, err := events.ParseEventID(string(a)); err != nil || a == b {
		t.Errorf("%s, %s: %v", a, b, err)
	}
	if _, err := events.ParseInstanceID(string(eventlog.NewInstanceID())); err != nil {
		t.Error(err)
	}
}
