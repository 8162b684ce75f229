package events

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// text reads a string and returns its unescaped bytes, which may lie in the input. Bytes that are not UTF-8, and
// escapes that are no character, become U+FFFD, as in encoding/json.
func (s *scanner) text() []byte {
	if rest := s.b[s.i:]; len(rest) > 0 && rest[0] == '"' { // nearly always
		if end := 1 + plainPrefix(rest[1:]); end < len(rest) && rest[end] == '"' {
			s.i += end + 1
			return rest[1:end]
		}
	}
	from := s.i
	in, plain := s.str()
	if plain || s.err != nil {
		return in
	}
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return in
	}
	var t string
	if err := json.Unmarshal(s.b[from:s.i], &t); err != nil {
		s.fail("%w: %w", errSyntax, err)
	}
	return []byte(t)
}

// str steps over a string and returns what stands between the quotes. It is plain when that is ASCII without escapes.
func (s *scanner) str() (in []byte, plain bool) {
	if !s.eat('"') {
		s.failSyntax("a string")
		return nil, false
	}
	from, plain := s.i, true
	for {
		s.i += plainPrefix(s.b[s.i:])
		if s.i >= len(s.b) {
			s.failSyntax("'\"'")
			return nil, false
		}
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return s.b[from : s.i-1], plain
		case c == '\\':
			s.escape()
		case c < ' ':
			s.failSyntax("no control character in a string")
		}
		if s.err != nil {
			return nil, false
		}
		plain = false
	}
}

// plainPrefix returns how many bytes of b come before the first that is a quote, a backslash, a control character or
// not ASCII. It looks at eight bytes at once: most of a payload is text.
func plainPrefix(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		// Subtracting sets the high bit of a byte that was too small. Borrows spoil only bytes after the first hit.
		hits := (x | (x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) & highs
		if hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

func (s *scanner) escape() {
	if s.i >= len(s.b) {
		s.failSyntax("an escape")
		return
	}
	c := s.b[s.i]
	s.i++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		for range 4 {
			if s.i >= len(s.b) || !isHex(s.b[s.i]) {
				s.failSyntax("four hex digits")
				return
			}
			s.i++
		}
	default:
		s.failSyntax("a known escape")
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
