package events

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Unknown holds the members of a JSON object that this version does not know, as they were written:
// `"name":value,"name":value`. They survive a round trip, so that an older binary never strips what a newer one wrote.
type Unknown []byte

func (u *Unknown) keep(name []byte, v value) {
	b := []byte(*u)
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = appendJSONString(b, string(name))
	b = append(b, ':')
	*u = append(b, v...)
}

// writer builds one JSON object member by member. Absent values (empty text, nil, none) write nothing.
type writer struct {
	b     []byte
	comma bool
}

func openObject(b []byte) writer { return writer{b: append(b, '{')} }

func (w *writer) close(u Unknown) []byte {
	if len(u) > 0 {
		w.sep()
		w.b = append(w.b, u...)
	}
	return append(w.b, '}')
}

func (w *writer) sep() {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
}

// name opens a member; its value must follow.
func (w *writer) name(name string) {
	w.sep()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *writer) text(name, v string) {
	if v == "" {
		return
	}
	w.name(name)
	w.b = appendJSONString(w.b, v)
}

// number writes v even when it is zero.
func (w *writer) number(name string, v int64) {
	w.name(name)
	w.b = appendNumber(w.b, v)
}

// count writes v unless it is zero.
func (w *writer) count(name string, v int64) {
	if v != 0 {
		w.number(name, v)
	}
}

// checkpoint writes id unless it is none.
func (w *writer) checkpoint(name string, id CheckpointID) {
	if !id.IsZero() {
		w.number(name, int64(id))
	}
}

func (w *writer) flag(name string, v bool) {
	if v {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) raw(name string, v []byte) {
	if len(v) > 0 {
		w.name(name)
		w.b = append(w.b, v...)
	}
}

// list writes an array of n elements, each by one call of element; an empty one writes nothing.
func (w *writer) list(name string, n int, element func(b []byte, i int) []byte) {
	if n == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '[')
	for i := range n {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = element(w.b, i)
	}
	w.b = append(w.b, ']')
}

// readText reads a JSON string into dst, a text of any content.
func readText[T ~string](v value, dst *T) error {
	if v.isNull() {
		return nil
	}
	if v[0] != '"' {
		return fmt.Errorf("want a string, not %.20s", v)
	}
	if in := v[1 : len(v)-1]; plainString(in) {
		*dst = T(in)
		return nil
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return fmt.Errorf("read string: %w", err)
	}
	*dst = T(s)
	return nil
}

// readName reads a JSON string that must be a valid name (job, task, instance, …).
func readName[T ~string](v value, what string, dst *T) error {
	var s T
	if err := readText(v, &s); err != nil || v.isNull() {
		return err
	}
	*dst = s
	return checkName(what, string(s), maxNameLen)
}

// readNumber reads a JSON integer of at least least. All 64 bits are kept; a fraction or exponent is refused.
func readNumber[T ~int64](v value, least int64, dst *T) error {
	if v.isNull() {
		return nil
	}
	n, err := parseInt(v)
	if err != nil {
		return err
	}
	if n < least {
		return fmt.Errorf("want a number of at least %d, not %d", least, n)
	}
	*dst = T(n)
	return nil
}

func parseInt(v value) (int64, error) {
	if len(v) > 0 && len(v) < 19 && v[0] != '-' { // fits without overflow checks
		n := int64(0)
		for _, c := range v {
			if c < '0' || c > '9' {
				return 0, fmt.Errorf("want an integer, not %.20s", v)
			}
			n = n*10 + int64(c-'0')
		}
		return n, nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("want a 64-bit integer, not %.24s", v)
	}
	return n, nil
}

func readFlag(v value, dst *bool) error {
	switch string(v) {
	case "true":
		*dst = true
	case "false", "null":
		*dst = false
	default:
		return fmt.Errorf("want true or false, not %.20s", v)
	}
	return nil
}

// readList reads a JSON array, each element by one call.
func readList(v value, element func(v value) error) error {
	if v.isNull() {
		return nil
	}
	return elements(v, element)
}

func readNumbers[T ~int64](v value, least int64, dst *[]T) error {
	*dst = nil
	return readList(v, func(v value) error {
		n := T(least - 1)
		if err := readNumber(v, least, &n); err != nil {
			return err
		}
		if int64(n) < least {
			return fmt.Errorf("want a number, not null")
		}
		*dst = append(*dst, n)
		return nil
	})
}

func readNames[T ~string](v value, what string, dst *[]T) error {
	*dst = nil
	return readList(v, func(v value) error {
		var s T
		if err := readName(v, what, &s); err != nil {
			return err
		}
		if s == "" {
			return checkName(what, "", maxNameLen)
		}
		*dst = append(*dst, s)
		return nil
	})
}

// readReason reads one word of a closed list.
func readReason[T ~string](v value, known []T, dst *T) error {
	if err := readText(v, dst); err != nil || v.isNull() {
		return err
	}
	return checkReason(*dst, known)
}

func checkReason[T ~string](r T, known []T) error {
	for _, k := range known {
		if r == k {
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %q", string(r), known)
}
