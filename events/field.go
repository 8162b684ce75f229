package events

import (
	"fmt"
	"slices"
)

// object is a JSON object that is read member by member.
type object interface {
	// set reads the value of one member; known is false, and nothing is read, for a member that this version does not know.
	set(name []byte, s *scanner) (known bool)
	// unknown is the place of the members that set did not know.
	unknown() *Unknown
}

// read reads a JSON object into o. The members that o does not know are kept as they were written.
func (s *scanner) read(o object) {
	s.open('{')
	for n := 0; s.more('}', n); n++ {
		from := s.i
		name := s.name()
		if s.err != nil {
			return
		}
		if o.set(name, s) {
			if s.err != nil {
				s.err = fmt.Errorf("field %s: %w", name, s.err)
			}
			continue
		}
		if s.skip(); s.err == nil {
			o.unknown().keep(s.b[from:s.i])
		}
	}
}

// The read functions below read one value into dst. null is as good as absent. A member that stands twice is read twice,
// so that the last one counts, as it does for most readers of JSON.

// readText reads a text of any content. Whether it is an allowed name or word is for validate to say.
func readText[T ~string](s *scanner, dst *T) {
	*dst = T(readBytes(s))
}

// readWord reads a word of a closed list; a known one costs no memory.
func readWord[T ~string](s *scanner, known []T, dst *T) {
	b := readBytes(s)
	for _, k := range known {
		if string(b) == string(k) {
			*dst = k
			return
		}
	}
	*dst = T(b)
}

func readBytes(s *scanner) []byte {
	switch s.peek() {
	case '"':
		return s.text()
	case 'n':
		s.literal("null")
	default:
		s.failType("a string", s.i)
	}
	return nil
}

// readNumber reads an integer. All 64 bits are kept; a fraction or an exponent is refused.
func readNumber[T ~int64](s *scanner, dst *T) {
	*dst = 0
	if !s.null() {
		*dst = T(s.integer())
	}
}

// readCheckpoint reads a checkpoint id; absent is [NoCheckpoint], and no number stands for that.
func readCheckpoint(s *scanner, dst *CheckpointID) {
	*dst = NoCheckpoint
	if s.null() {
		return
	}
	n := s.integer()
	if *dst = CheckpointID(n); n < 0 {
		s.fail("checkpoint %d is below 0", n)
	}
}

func readFlag(s *scanner, dst *bool) {
	*dst = false
	switch s.peek() {
	case 't':
		s.literal("true")
		*dst = true
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.failType("true or false", s.i)
	}
}

func readPosition(s *scanner, dst *Position) {
	*dst = Position{}
	b := readBytes(s)
	if b == nil || s.err != nil {
		return
	}
	var err error
	if *dst, err = ParsePosition(string(b)); err != nil {
		s.fail("%w", err)
	}
}

// readObject reads a JSON object into o, which is zero.
func readObject(s *scanner, o object) {
	if !s.null() {
		s.read(o)
	}
}

// readList reads a JSON array; element reads one element and fails when it is empty, so that a long row of nothing
// costs no memory.
func readList[T any](s *scanner, dst *[]T, element func(s *scanner, dst *T)) {
	*dst = nil
	if s.null() {
		return
	}
	s.open('[')
	for n := 0; s.more(']', n); n++ {
		var zero T
		*dst = append(*dst, zero)
		if element(s, &(*dst)[n]); s.err != nil {
			s.err = fmt.Errorf("[%d]: %w", n, s.err)
		}
	}
}

func readTaskName(s *scanner, dst *TaskID) {
	if readText(s, dst); *dst == "" {
		s.fail("task is empty")
	}
}

// Unknown holds the members of a JSON object that this version does not know, as they were written:
// `"name":value,"name":value`. They survive a round trip, so that an older binary never strips what a newer one wrote.
// Only Decode makes one.
type Unknown []byte

func (u *Unknown) keep(member []byte) {
	if len(*u) > 0 {
		*u = append(*u, ',')
	}
	*u = append(*u, member...)
}

// check reports whether u can stand in an object at the level depth.
func (u Unknown) check(depth int) error {
	if len(u) == 0 {
		return nil
	}
	s := scanner{b: u, depth: depth}
	for n := 0; n == 0 || s.eat(','); n++ {
		s.peek()
		if s.name(); s.err == nil {
			s.skip()
		}
		if s.err != nil {
			return fmt.Errorf("unknown members: %w", s.err)
		}
		s.peek()
	}
	if s.end(); s.err != nil {
		return fmt.Errorf("unknown members: %w", s.err)
	}
	return nil
}

// firstOf returns the first that is an error.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkWord[T ~string](field string, word T, known []T) error {
	if slices.Contains(known, word) {
		return nil
	}
	return fmt.Errorf("field %s: %q is not one of %q", field, string(word), slices.Clone(known))
}

func checkLeast[T ~int64](field string, n, least T) error {
	if n < least {
		return fmt.Errorf("field %s: want at least %d, not %d", field, int64(least), int64(n))
	}
	return nil
}

// Levels of the objects of a payload, for the depth of what they hold.
const (
	levelEnvelope = 1
	levelData     = 2
	levelField    = 3 // handle, measures, policy
)
