package engine

import (
	"encoding/binary"
	"fmt"
)

// itemVersion is the layout version of the small items; tables have their own in package state.
const itemVersion = 1

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads the small items. The first mistake sticks; every later read gives zero.
type decoder struct {
	b   []byte
	err error
}

// newDecoder checks the two bytes at the head: kind and version.
func newDecoder(b []byte, kind byte) *decoder {
	d, _ := newDecoderOf(b, kind, itemVersion)
	return d
}

// newDecoderOf is newDecoder for items with several layouts, of which the newest is given.
func newDecoderOf(b []byte, kind, newest byte) (d *decoder, version byte) {
	d = &decoder{b: b}
	switch {
	case len(b) < 2 || b[0] != kind:
		d.err = fmt.Errorf("not an item of kind %q: %w", kind, ErrCorrupt)
	case b[1] == 0 || b[1] > newest:
		d.err = fmt.Errorf("layout version %d, known is %d: %w", b[1], newest, ErrVersion)
	default:
		d.b, version = b[2:], b[1]
	}
	return d, version
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return take(d, v, n)
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return take(d, v, n)
}

func take[N int64 | uint64](d *decoder, v N, n int) N {
	if d.err == nil && n <= 0 {
		d.err = fmt.Errorf("number cut short: %w", ErrCorrupt)
	}
	if d.err != nil {
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bool() bool {
	if d.err == nil && (len(d.b) == 0 || d.b[0] > 1) {
		d.err = fmt.Errorf("no boolean: %w", ErrCorrupt)
	}
	if d.err != nil {
		return false
	}
	v := d.b[0] == 1
	d.b = d.b[1:]
	return v
}

func (d *decoder) string() string {
	n := d.uvarint()
	if d.err == nil && n > uint64(len(d.b)) {
		d.err = fmt.Errorf("string of %d bytes in %d: %w", n, len(d.b), ErrCorrupt)
	}
	if d.err != nil {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// finish says whether all was read and nothing was wrong.
func (d *decoder) finish() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes too many: %w", len(d.b), ErrCorrupt)
	}
	return d.err
}
