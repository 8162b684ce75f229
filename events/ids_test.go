package events_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
)

// name is what the ids that are names have in common.
type name interface {
	~string
	String() string
	IsZero() bool
	MarshalText() ([]byte, error)
}

// checkName holds one id type to the rules of a name: P is the pointer type of T.
func checkName[T name, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, parse func(string) (T, error)) {
	t.Helper()
	for _, good := range []string{"a", "0", "-", ".", "_", "A-z_0.9", strings.Repeat("x", 128)} {
		id, err := parse(good)
		if err != nil || id.String() != good || id.IsZero() {
			t.Errorf("%q is read as %q, zero %v, %v", good, id, id.IsZero(), err)
		}
		text, err := id.MarshalText()
		if err != nil || string(text) != good {
			t.Errorf("%q is marshalled to %q, %v", good, text, err)
		}
		var back T
		if err := P(&back).UnmarshalText(text); err != nil || back != id {
			t.Errorf("%q is unmarshalled to %q, %v", text, back, err)
		}
	}
	for _, bad := range []string{
		"", strings.Repeat("x", 129), "a b", "a:b", "{a}", "a*", "a?", "a/b", "a\n", "\x00", "ä", "a\xff", "a,b", `a"b`, "a\\b",
	} {
		if _, err := parse(bad); !errors.Is(err, events.ErrInvalidID) {
			t.Errorf("%q is read with %v", bad, err)
		}
		if _, err := T(bad).MarshalText(); !errors.Is(err, events.ErrInvalidID) {
			t.Errorf("%q is marshalled with %v", bad, err)
		}
		var back T
		if err := P(&back).UnmarshalText([]byte(bad)); !errors.Is(err, events.ErrInvalidID) {
			t.Errorf("%q is unmarshalled with %v", bad, err)
		}
	}
	if !T("").IsZero() {
		t.Error("the empty id is not zero")
	}
}

func TestNamesAreShortAndFreeOfWhatARedisKeyGivesAMeaning(t *testing.T) {
	t.Run("job", func(t *testing.T) { checkName(t, events.ParseJobID) })
	t.Run("task", func(t *testing.T) { checkName(t, events.ParseTaskID) })
	t.Run("instance", func(t *testing.T) { checkName(t, events.ParseInstanceID) })
	t.Run("request", func(t *testing.T) { checkName(t, events.ParseRequestID) })
	t.Run("event", func(t *testing.T) { checkName(t, events.ParseEventID) })
}

func TestNumbersAreReadOnlyAsTheyAreWritten(t *testing.T) {
	for what, tc := range map[string]struct {
		parse func(string) (int64, string, error)
		least int64
	}{
		"checkpoint": {func(s string) (int64, string, error) {
			id, err := events.ParseCheckpointID(s)
			return int64(id), id.String(), err
		}, 0},
		"attempt": {func(s string) (int64, string, error) {
			a, err := events.ParseAttempt(s)
			return int64(a), a.String(), err
		}, 1},
		"epoch": {func(s string) (int64, string, error) {
			e, err := events.ParseEpoch(s)
			return int64(e), e.String(), err
		}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := genInt[int64](tc.least).Draw(t, "n")
				n, s, err := tc.parse(strconv.FormatInt(want, 10))
				if err != nil || n != want || s != strconv.FormatInt(want, 10) {
					t.Fatalf("%d is read as %d %q, %v", want, n, s, err)
				}
			})
			for _, bad := range []string{"", "-1", "+1", " 1", "1 ", "01", "1.0", "1e3", "0x1", "1_000", "9223372036854775808", "none", "٣"} {
				if _, _, err := tc.parse(bad); !errors.Is(err, events.ErrInvalidID) {
					t.Errorf("%q is read with %v", bad, err)
				}
			}
			if _, _, err := tc.parse("0"); (err == nil) != (tc.least == 0) {
				t.Errorf("0 is read with %v", err)
			}
		})
	}
	if events.NoCheckpoint.String() != "none" || !events.NoCheckpoint.IsZero() || events.CheckpointID(0).IsZero() {
		t.Error("no checkpoint and checkpoint 0 are mixed up")
	}
	if !events.Attempt(0).IsZero() || events.Attempt(1).IsZero() || !events.Epoch(0).IsZero() || events.Epoch(1).IsZero() {
		t.Error("0 must be no attempt and no epoch, 1 the first")
	}
}

func TestDigestsAre64LowerCaseHexDigits(t *testing.T) {
	good := strings.Repeat("0123456789abcdef", 4)
	if d, err := events.ParseDigest(good); err != nil || d.String() != good || d.IsZero() {
		t.Errorf("%s is read as %s, %v", good, d, err)
	}
	for _, bad := range []string{"", good[1:], good + "0", strings.ToUpper(good), "g" + good[1:], "/" + good[1:], ":" + good[1:], "`" + good[1:]} {
		if d, err := events.ParseDigest(bad); !errors.Is(err, events.ErrInvalidID) || !d.IsZero() {
			t.Errorf("%q is read as %q, %v", bad, d, err)
		}
	}
}

func TestClosedListsHaveNoDoubles(t *testing.T) {
	for what, list := range map[string][]string{
		"kinds":    texts(events.Kinds()),
		"declines": texts(events.DeclineReasons()),
		"failures": texts(events.FailureReasons()),
		"refusals": texts(events.RefusalReasons()),
	} {
		seen := map[string]bool{}
		for _, w := range list {
			if seen[w] || w == "" {
				t.Errorf("%s: %q stands twice or is empty", what, w)
			}
			seen[w] = true
		}
	}
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

func TestIDsTravelInJSON(t *testing.T) {
	type all struct {
		Job  events.JobID
		Task map[events.TaskID]events.Position
	}
	want := all{"orders", map[events.TaskID]events.Position{"a": {Ms: 1, Seq: 2}}}
	b, err := json.Marshal(want)
	if err != nil || string(b) != `{"Job":"orders","Task":{"a":"1-2"}}` {
		t.Fatalf("%s, %v", b, err)
	}
	var got all
	if err := json.Unmarshal(b, &got); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v, %v", got, err)
	}
}
