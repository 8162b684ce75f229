package events

import (
	"strconv"
	"unicode/utf8"
)

// The append functions write one member of a JSON object behind b. An absent value (empty, none, null) writes nothing
// unless the function says so.

// appendName opens a member; its value must follow.
func appendName(b []byte, name string) []byte {
	b = append(appendComma(b), '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// appendComma parts an element from the one before it, if there is one.
func appendComma(b []byte) []byte {
	if c := b[len(b)-1]; c == '{' || c == '[' {
		return b
	}
	return append(b, ',')
}

func appendText[T ~string](b []byte, name string, v T) []byte {
	if v == "" {
		return b
	}
	return appendJSONString(appendName(b, name), string(v))
}

// appendNumber writes v even when it is zero.
func appendNumber[T ~int64](b []byte, name string, v T) []byte {
	return strconv.AppendInt(appendName(b, name), int64(v), 10)
}

// appendCount writes v unless it is zero.
func appendCount[T ~int64](b []byte, name string, v T) []byte {
	if v == 0 {
		return b
	}
	return appendNumber(b, name, v)
}

func appendCheckpoint(b []byte, name string, id CheckpointID) []byte {
	if id.IsZero() {
		return b
	}
	return appendNumber(b, name, id)
}

func appendFlag(b []byte, name string, v bool) []byte {
	if !v {
		return b
	}
	return append(appendName(b, name), "true"...)
}

func appendPosition(b []byte, name string, p Position) []byte {
	if p.IsZero() {
		return b
	}
	b = append(appendName(b, name), '"')
	return append(p.append(b), '"')
}

func appendTexts[T ~string](b []byte, name string, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(appendName(b, name), '[')
	for _, v := range list {
		b = appendJSONString(appendComma(b), string(v))
	}
	return append(b, ']')
}

// appendEnd closes an object after the members that this version does not know.
func appendEnd(b []byte, u Unknown) []byte {
	if len(u) > 0 {
		b = append(appendComma(b), u...)
	}
	return append(b, '}')
}

func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = append(b, s[from:i]...)
		b = appendEscape(b, c)
		i += size
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// appendEscape writes a byte that may not stand in a JSON string as it is; one that is not UTF-8 becomes U+FFFD.
func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"', c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, '\\', 'n')
	case c == '\r':
		return append(b, '\\', 'r')
	case c == '\t':
		return append(b, '\\', 't')
	case c < ' ':
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	default:
		return utf8.AppendRune(b, utf8.RuneError)
	}
}
