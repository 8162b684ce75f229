package events

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in the log: the id that Redis gave to a stream entry, milliseconds and sequence.
// Positions order the log. They are not a clock: an id never goes back, so it can run ahead of any clock.
type Position struct {
	Ms  uint64
	Seq uint64
}

// Start is the position before every entry, and End the one after; neither can be the position of an entry.
var (
	Start = Position{}
	End   = Position{Ms: ^uint64(0), Seq: ^uint64(0)}
)

// ParsePosition reads "ms-seq" as Redis prints it ("ms" alone means "ms-0"), or returns an error that wraps [ErrInvalidID].
func ParsePosition(s string) (Position, error) {
	ms, seq, both := strings.Cut(s, "-")
	p := Position{}
	var err error
	if p.Ms, err = strconv.ParseUint(ms, 10, 64); err == nil && both {
		p.Seq, err = strconv.ParseUint(seq, 10, 64)
	}
	if err != nil {
		return Position{}, fmt.Errorf("%w: position %q is not of the form ms-seq", ErrInvalidID, s)
	}
	return p, nil
}

// String prints the position as Redis does: "ms-seq".
func (p Position) String() string {
	b := make([]byte, 0, 24)
	return string(p.append(b))
}

func (p Position) append(b []byte) []byte {
	b = strconv.AppendUint(b, p.Ms, 10)
	b = append(b, '-')
	return strconv.AppendUint(b, p.Seq, 10)
}

// IsZero reports whether p is [Start].
func (p Position) IsZero() bool { return p == Position{} }

// Compare returns -1, 0 or +1 as p is before, at or after q.
func (p Position) Compare(q Position) int {
	switch {
	case p == q:
		return 0
	case p.Ms < q.Ms, p.Ms == q.Ms && p.Seq < q.Seq:
		return -1
	default:
		return 1
	}
}

// Before reports whether p comes before q in the log.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// After reports whether p comes after q in the log.
func (p Position) After(q Position) bool { return p.Compare(q) > 0 }

// Next is the smallest position after p; the next of [End] is End.
func (p Position) Next() Position {
	switch {
	case p == End:
		return End
	case p.Seq == ^uint64(0):
		return Position{Ms: p.Ms + 1}
	default:
		return Position{Ms: p.Ms, Seq: p.Seq + 1}
	}
}

// MarshalText implements [encoding.TextMarshaler].
func (p Position) MarshalText() ([]byte, error) { return p.append(nil), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Position) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePosition(string(b))
	return err
}
