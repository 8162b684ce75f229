package events_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
)

func TestPositionsAreOrderedAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := genPosition().Draw(t, "p"), genPosition().Draw(t, "q")
		want := 0
		switch { // compared by hand, millisecond first
		case p.Ms != q.Ms && p.Ms < q.Ms, p.Ms == q.Ms && p.Seq < q.Seq:
			want = -1
		case p != q:
			want = 1
		}
		if got := p.Compare(q); got != want || q.Compare(p) != -want {
			t.Fatalf("%s to %s is %d, want %d", p, q, got, want)
		}
		if p.Before(q) != (want < 0) || p.After(q) != (want > 0) {
			t.Fatalf("%s before %s: %v; after: %v", p, q, p.Before(q), p.After(q))
		}
		if p.Before(events.Start) || p.After(events.End) {
			t.Fatalf("%s is outside of the log", p)
		}
	})
}

func TestNothingLiesBetweenAPositionAndTheNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := genPosition().Draw(t, "p"), genPosition().Draw(t, "q")
		next := p.Next()
		if p != events.End && (!next.After(p) || q.After(p) && q.Before(next)) {
			t.Fatalf("the next of %s is %s; %s lies between", p, next, q)
		}
	})
	for p, want := range map[events.Position]events.Position{
		events.Start:                 {Seq: 1},
		{Ms: 5, Seq: math.MaxUint64}: {Ms: 6},
		events.End:                   events.End,
	} {
		if got := p.Next(); got != want {
			t.Errorf("the next of %s is %s, want %s", p, got, want)
		}
	}
}

func TestPositionsAreReadAsRedisPrintsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genPosition().Draw(t, "position")
		got, err := events.ParsePosition(want.String())
		if err != nil || got != want || got.IsZero() != (want == events.Start) {
			t.Fatalf("%s is read as %s, %v", want, got, err)
		}
		text, err := want.MarshalText()
		var back events.Position
		if err != nil || back.UnmarshalText(text) != nil || back != want {
			t.Fatalf("%s is marshalled to %s and back to %s, %v", want, text, back, err)
		}
	})
	if p, err := events.ParsePosition("17"); err != nil || p != (events.Position{Ms: 17}) {
		t.Errorf("17 is read as %s, %v", p, err)
	}
	for _, bad := range []string{
		"", "-", "-1", "1-", "+1-0", "1-+0", "1--0", "-1-0", " 1-0", "1-0 ", "1 -0", "1-0-0", "1_0-0", "0x1-0", "a-b", "$", "*", "1-*", "+",
		"18446744073709551616-0", "0-18446744073709551616", "1.0-0", "١-٠",
	} {
		if p, err := events.ParsePosition(bad); !errors.Is(err, events.ErrInvalidID) || !p.IsZero() {
			t.Errorf("%q is read as %s, %v", bad, p, err)
		}
	}
}
