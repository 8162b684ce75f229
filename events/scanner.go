package events

import (
	"errors"
	"fmt"
	"strconv"
)

// maxDepth bounds how deep objects and arrays may nest in a payload; the envelope is level 1. So a hostile payload
// costs no stack.
const maxDepth = 64

var errSyntax = errors.New("not valid JSON")

// scanner reads JSON text (RFC 8259) in one pass. It is hand-written because it is the hot path of replay: encoding/json
// needs several times as long for an ack (see BenchmarkDecode), and would lose the members that we do not know.
//
// The first error stays in err; after it, more says no, and what is read is worthless. So a reader of a field needs no
// checks of its own.
type scanner struct {
	b     []byte
	i     int
	depth int
	err   error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *scanner) failSyntax(want string) { s.fail("%w: want %s at byte %d", errSyntax, want, s.i) }

// failType reports a value of the wrong type that starts at from.
func (s *scanner) failType(want string, from int) {
	s.i = from
	if s.skip(); s.err == nil {
		s.fail("want %s, not %.24s", want, s.b[from:s.i])
	}
}

// peek steps over space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
		s.i++
	}
	return 0
}

// eat steps over c if it comes next.
func (s *scanner) eat(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// end fails unless only space is left.
func (s *scanner) end() {
	if s.peek(); s.i < len(s.b) {
		s.failSyntax("nothing more")
	}
}

// open steps into an object or array. Loop over its elements with
//
//	for n := 0; s.more(closing, n); n++ { … }
func (s *scanner) open(c byte) {
	if s.peek() != c {
		what := "an object"
		if c == '[' {
			what = "an array"
		}
		s.failType(what, s.i)
		return
	}
	s.i++
	if s.depth++; s.depth > maxDepth {
		s.fail("%w: nested deeper than %d levels at byte %d", errSyntax, maxDepth, s.i)
	}
}

// more reports whether an element follows the n that were read, and steps to it or over the closing bracket.
func (s *scanner) more(closing byte, n int) bool {
	if s.err != nil {
		return false
	}
	switch c := s.peek(); {
	case c == closing:
		s.i++
		s.depth--
		return false
	case n == 0:
		return true
	case c == ',':
		s.i++
		s.peek()
		return true
	}
	s.failSyntax("',' or '" + string(closing) + "'")
	return false
}

// name reads a member's name, which must come next, and the colon behind it. The name is unescaped, and may lie in the input.
func (s *scanner) name() []byte {
	name := s.text()
	if s.eat(':') || s.err != nil {
		return name
	}
	if s.peek(); !s.eat(':') {
		s.failSyntax("':'")
	}
	return name
}

// integer reads a number, which must come next, that has neither fraction nor exponent and fits 64 bits.
func (s *scanner) integer() int64 {
	from := s.i
	n := int64(0)
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' && s.i-from < 18 { // fits without overflow checks
		n = n*10 + int64(s.b[s.i]-'0')
		s.i++
	}
	if s.i > from && (s.b[from] != '0' || s.i == from+1) && s.i < len(s.b) && (s.b[s.i] == ',' || s.b[s.i] == '}') {
		return n
	}
	s.i = from
	s.skip()
	n, err := strconv.ParseInt(string(s.b[from:s.i]), 10, 64)
	if err != nil {
		s.failType("a 64-bit integer", from)
	}
	return n
}

// null steps over null if it comes next.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return true
}

func (s *scanner) literal(word string) {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.failSyntax(word)
		return
	}
	s.i += len(word)
}

// raw steps over any value and returns it as it was written.
func (s *scanner) raw() []byte {
	s.peek()
	from := s.i
	s.skip()
	return s.b[from:s.i]
}

// skip steps over any value and checks its grammar.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '"':
		s.str()
	case c == '{', c == '[':
		s.skipAll(c)
	case c == '-' || '0' <= c && c <= '9':
		s.number()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.failSyntax("a value")
	}
}

// skipAll steps over the object or array that begins with c.
func (s *scanner) skipAll(c byte) {
	s.open(c)
	for n := 0; s.more(c+2, n); n++ { // in ASCII the closing bracket is the opening one plus 2
		if c == '{' {
			s.name()
		}
		if s.err == nil {
			s.skip()
		}
	}
}

func (s *scanner) number() {
	s.eat('-')
	if !s.eat('0') {
		s.digits()
	}
	if s.eat('.') {
		s.digits()
	}
	if s.eat('e') || s.eat('E') {
		if !s.eat('+') {
			s.eat('-')
		}
		s.digits()
	}
}

func (s *scanner) digits() {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	if s.i == from {
		s.failSyntax("a digit")
	}
}
