package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// maxDepth bounds the nesting of a payload, so that a hostile one costs no stack.
const maxDepth = 64

var errSyntax = errors.New("not valid JSON")

// value is the raw JSON text of one member's value: valid, without surrounding space.
type value []byte

func (v value) isNull() bool { return len(v) == 4 && v[0] == 'n' }

// members calls visit for each member of the JSON object in data, in order. Names are unescaped, values are
// validated but not decoded. It is hand-written because it is the hot path of replay: encoding/json needs
// several times as long for an ack (see BenchmarkDecode), and would lose the members that we do not know.
func members(data []byte, visit func(name []byte, v value) error) error {
	s := scanner{b: data}
	s.space()
	if !s.eat('{') {
		return s.fail("an object")
	}
	if err := s.members(visit); err != nil {
		return err
	}
	s.space()
	if s.i != len(s.b) {
		return s.fail("nothing after the object")
	}
	return nil
}

// elements calls visit for each element of the JSON array in v.
func elements(v value, visit func(v value) error) error {
	s := scanner{b: v}
	s.space()
	if !s.eat('[') {
		return s.fail("an array")
	}
	s.space()
	if s.eat(']') {
		return nil
	}
	for {
		s.space()
		from := s.i
		if err := s.value(0); err != nil {
			return err
		}
		if err := visit(s.b[from:s.i]); err != nil {
			return err
		}
		s.space()
		if s.eat(']') {
			return nil
		}
		if !s.eat(',') {
			return s.fail("',' or ']'")
		}
	}
}

// scanner walks over JSON text and checks its grammar (RFC 8259).
type scanner struct {
	b []byte
	i int
}

func (s *scanner) fail(want string) error {
	return fmt.Errorf("%w: want %s at byte %d", errSyntax, want, s.i)
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) eat(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// members walks the rest of an object whose brace is behind it.
func (s *scanner) members(visit func(name []byte, v value) error) error {
	s.space()
	if s.eat('}') {
		return nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		from := s.i
		if err := s.value(1); err != nil {
			return err
		}
		if err := visit(name, s.b[from:s.i]); err != nil {
			return err
		}
		s.space()
		if s.eat('}') {
			return nil
		}
		if !s.eat(',') {
			return s.fail("',' or '}'")
		}
	}
}

// name reads a member's name and the colon and space after it.
func (s *scanner) name() ([]byte, error) {
	s.space()
	from := s.i
	escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	name := s.b[from+1 : s.i-1]
	if escaped {
		var t string
		if err := json.Unmarshal(s.b[from:s.i], &t); err != nil {
			return nil, fmt.Errorf("%w: %w", errSyntax, err)
		}
		name = []byte(t)
	}
	s.space()
	if !s.eat(':') {
		return nil, s.fail("':'")
	}
	s.space()
	return name, nil
}

func (s *scanner) value(depth int) error {
	if depth > maxDepth {
		return s.fail(fmt.Sprintf("at most %d levels", maxDepth))
	}
	if s.i >= len(s.b) {
		return s.fail("a value")
	}
	switch c := s.b[s.i]; {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{', c == '[':
		return s.composite(depth)
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	default:
		return s.fail("a value")
	}
}

func (s *scanner) composite(depth int) error {
	closing := byte(']')
	object := s.b[s.i] == '{'
	if object {
		closing = '}'
	}
	s.i++
	s.space()
	if s.eat(closing) {
		return nil
	}
	for {
		s.space()
		if object {
			if err := s.skipName(); err != nil {
				return err
			}
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.space()
		if s.eat(closing) {
			return nil
		}
		if !s.eat(',') {
			return s.fail("',' or a closing bracket")
		}
	}
}

func (s *scanner) skipName() error {
	if _, err := s.str(); err != nil {
		return err
	}
	s.space()
	if !s.eat(':') {
		return s.fail("':'")
	}
	s.space()
	return nil
}

// str steps over a string and reports whether it holds an escape.
func (s *scanner) str() (escaped bool, err error) {
	if !s.eat('"') {
		return false, s.fail("a string")
	}
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return escaped, nil
		case c < ' ':
			return false, s.fail("no control character in a string")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return false, err
			}
		}
	}
	return false, s.fail("'\"'")
}

func (s *scanner) escape() error {
	if s.i >= len(s.b) {
		return s.fail("an escape")
	}
	c := s.b[s.i]
	s.i++
	if c != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0 {
			return s.fail("a known escape")
		}
		return nil
	}
	for range 4 {
		if s.i >= len(s.b) || !isHex(s.b[s.i]) {
			return s.fail("four hex digits")
		}
		s.i++
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) number() error {
	s.eat('-')
	if !s.eat('0') && !s.digits() {
		return s.fail("a digit")
	}
	if s.eat('.') && !s.digits() {
		return s.fail("a digit")
	}
	if s.eat('e') || s.eat('E') {
		if !s.eat('+') {
			s.eat('-')
		}
		if !s.digits() {
			return s.fail("a digit")
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}

func (s *scanner) literal(word string) error {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return s.fail(word)
	}
	s.i += len(word)
	return nil
}

// plainString reports whether the quoted text between the quotes is printable ASCII without escapes:
// then its bytes are the string.
func plainString(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}

func appendJSONString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' || c == '"' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes: invalid UTF-8 becomes U+FFFD
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func appendNumber(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }
