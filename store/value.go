package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of state values, as encoding/json does when it decodes.
const maxDepth = 10_000

// maxNamedDepth bounds the path in an error.
const maxNamedDepth = 8

// exactDigits is the number of decimal digits that a float64 always keeps.
const exactDigits = 15

// appendValue appends v as JSON: map keys sorted, so that equal states are equal bytes; whole floats with ".0", so that
// they are told from integers. It is bounded in depth, since a state may contain itself.
func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrInvalid, maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		return appendObject(b, v, depth)
	case State:
		return appendObject(b, v, depth)
	case []any:
		return appendList(b, v, depth)
	case string:
		return appendString(b, v)
	case []byte:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v)
		return append(b, '"'), nil
	case float64:
		return appendFloat(b, v, 64)
	case float32:
		return appendFloat(b, float64(v), 32)
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case nil:
		return append(b, "null"...), nil
	default:
		return appendMarshaled(b, v)
	}
}

func appendObject(b []byte, m map[string]any, depth int) ([]byte, error) {
	if m == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendString(b, k); err != nil {
			return nil, err
		}
		b = append(b, ':')
		if b, err = appendValue(b, m[k], depth+1); err != nil {
			return nil, within(depth, strconv.Quote(k), err)
		}
	}
	return append(b, '}'), nil
}

func appendList(b []byte, l []any, depth int) ([]byte, error) {
	if l == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i, v := range l {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, v, depth+1); err != nil {
			return nil, within(depth, fmt.Sprintf("[%d]", i), err)
		}
	}
	return append(b, ']'), nil
}

// within names the way to a bad value, but not a way of thousands of steps.
func within(depth int, step string, err error) error {
	if depth >= maxNamedDepth {
		return err
	}
	return fmt.Errorf("%s: %w", step, err)
}

// appendString refuses text that is not UTF-8, which encoding/json would replace without a word.
func appendString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%w: text %q is not UTF-8; put bytes in as []byte", ErrInvalid, s)
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			q, err := json.Marshal(s)
			return append(b, q...), err
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), nil
}

func appendFloat(b []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%w: JSON has no number %v", ErrInvalid, f)
	}
	text := formatFloat(f, bits)
	b = append(b, text...)
	if !strings.ContainsAny(text, ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}

// formatFloat uses an exponent only for numbers that are very small or very large, as encoding/json does.
func formatFloat(f float64, bits int) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(f, format, -1, bits)
}

// appendMarshaled takes the way over encoding/json, for structs and all other types.
func appendMarshaled(b []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	plain, err := decodeValue(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if n, ok := plain.(json.Number); ok {
		return append(b, n...), nil
	}
	return appendValue(b, plain, 0)
}

// decodeValue reads one JSON value in the types that [State] promises.
func decodeValue(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return plain(v), nil
}

// plain replaces each json.Number in place by the type that holds it.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// number keeps the text when no type of 64 bits holds it exactly: whoever wrote it gets it back.
func number(n json.Number) any {
	s := n.String()
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return u
		}
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || digits(s) > exactDigits && formatFloat(f, 64) != s {
		return n
	}
	return f
}

// digits counts the digits before an exponent, leading zeros aside.
func digits(s string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	mantissa = strings.TrimLeft(strings.Replace(mantissa, ".", "", 1), "-0")
	return len(mantissa)
}
