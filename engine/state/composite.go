package state

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// takeCount reads the length of a slice or map: 0 is nil, n+1 is n elements of at least least bytes each.
func takeCount(b []byte, least int) (n int, isNil bool, rest []byte, err error) {
	v, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, false, nil, ErrCorrupt
	}
	if v == 0 {
		return 0, true, b[k:], nil
	}
	if v-1 > uint64(len(b)-k)/uint64(least) {
		return 0, false, nil, fmt.Errorf("%d elements in %d bytes: %w", v-1, len(b)-k, ErrCorrupt)
	}
	return int(v - 1), false, b[k:], nil
}

func compileSlice(t reflect.Type, outer []reflect.Type) (*shape, error) {
	e, err := compile(t.Elem(), outer)
	if err != nil {
		return nil, err
	}
	if e.min == 0 {
		return nil, fmt.Errorf("%s: elements of no size: %w", t, ErrType)
	}
	s := &shape{schema: "[]" + e.schema, size: t.Size(), min: 1}
	s.enc = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		v := reflect.NewAt(t, p).Elem()
		if v.IsNil() {
			return append(b, 0), nil
		}
		return encRun(e, v.Len(), binary.AppendUvarint(b, uint64(v.Len())+1), v.UnsafePointer())
	}
	s.dec = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		n, isNil, rest, err := takeCount(b, e.min)
		if err != nil || isNil {
			return rest, err
		}
		v := reflect.NewAt(t, p).Elem()
		v.Set(reflect.MakeSlice(t, n, n))
		return decRun(e, n, rest, v.UnsafePointer())
	}
	return s, nil
}

func compileArray(t reflect.Type, outer []reflect.Type) (*shape, error) {
	e, err := compile(t.Elem(), outer)
	if err != nil {
		return nil, err
	}
	n := t.Len()
	return &shape{
		schema: fmt.Sprintf("[%d]%s", n, e.schema), flat: e.flat, exact: e.exact, size: t.Size(), min: n * e.min,
		enc: func(b []byte, p unsafe.Pointer) ([]byte, error) { return encRun(e, n, b, p) },
		dec: func(b []byte, p unsafe.Pointer) ([]byte, error) { return decRun(e, n, b, p) },
	}, nil
}

// encRun writes n elements that lie one behind the other at p.
func encRun(e *shape, n int, b []byte, p unsafe.Pointer) (_ []byte, err error) {
	for i := range n {
		if b, err = e.enc(b, unsafe.Add(p, uintptr(i)*e.size)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// decRun reads n elements to p.
func decRun(e *shape, n int, b []byte, p unsafe.Pointer) (_ []byte, err error) {
	for i := range n {
		if b, err = e.dec(b, unsafe.Add(p, uintptr(i)*e.size)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func compilePointer(t reflect.Type, outer []reflect.Type) (*shape, error) {
	e, err := compile(t.Elem(), outer)
	if err != nil {
		return nil, err
	}
	s := &shape{schema: "*" + e.schema, size: t.Size(), min: 1}
	s.enc = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return append(b, 0), nil
		}
		return e.enc(append(b, 1), q)
	}
	s.dec = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		if len(b) == 0 || b[0] > 1 {
			return nil, fmt.Errorf("pointer: %w", ErrCorrupt)
		}
		if b[0] == 0 {
			return b[1:], nil
		}
		v := reflect.New(t.Elem())
		reflect.NewAt(t, p).Elem().Set(v.Convert(t))
		return e.dec(b[1:], v.UnsafePointer())
	}
	return s, nil
}

func compileStruct(t reflect.Type, outer []reflect.Type) (*shape, error) {
	type field struct {
		*shape
		at uintptr
	}
	s := &shape{flat: true, exact: true, size: t.Size()}
	var fields []field
	var names []string
	for f := range t.Fields() {
		e, err := compile(f.Type, outer)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		fields = append(fields, field{e, f.Offset})
		names = append(names, f.Name+" "+e.schema)
		s.flat = s.flat && e.flat
		s.exact = s.exact && e.exact && f.Name != "_" // == leaves such a field out
		s.min += e.min
	}
	s.schema = "struct{" + strings.Join(names, "; ") + "}"
	s.enc = func(b []byte, p unsafe.Pointer) (_ []byte, err error) {
		for _, f := range fields {
			if b, err = f.enc(b, unsafe.Add(p, f.at)); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	s.dec = func(b []byte, p unsafe.Pointer) (_ []byte, err error) {
		for _, f := range fields {
			if b, err = f.dec(b, unsafe.Add(p, f.at)); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return s, nil
}

func compileMap(t reflect.Type, outer []reflect.Type) (*shape, error) {
	k, err := compile(t.Key(), outer)
	if err != nil {
		return nil, err
	}
	e, err := compile(t.Elem(), outer)
	if err != nil {
		return nil, err
	}
	if k.min == 0 {
		return nil, fmt.Errorf("%s: keys of no size: %w", t, ErrType)
	}
	s := &shape{schema: "map[" + k.schema + "]" + e.schema, size: t.Size(), min: 1}
	s.enc = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		m := reflect.NewAt(t, p).Elem()
		if m.IsNil() {
			return append(b, 0), nil
		}
		return encMap(k, e, m, b)
	}
	s.dec = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		n, isNil, rest, err := takeCount(b, k.min+e.min)
		if err != nil || isNil {
			return rest, err
		}
		m := reflect.MakeMapWithSize(t, min(n, 1024))
		reflect.NewAt(t, p).Elem().Set(m)
		return decMap(k, e, m, n, rest)
	}
	return s, nil
}

// encMap writes the entries in the order of their encoded keys.
func encMap(k, e *shape, m reflect.Value, b []byte) ([]byte, error) {
	entries := make([][2][]byte, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		// Map elements have no address; the codec wants one.
		kv, ev := reflect.New(it.Key().Type()), reflect.New(it.Value().Type())
		kv.Elem().Set(it.Key())
		ev.Elem().Set(it.Value())
		kb, err := k.enc(nil, kv.UnsafePointer())
		if err != nil {
			return nil, err
		}
		eb, err := e.enc(nil, ev.UnsafePointer())
		if err != nil {
			return nil, err
		}
		entries = append(entries, [2][]byte{kb, eb})
	}
	slices.SortFunc(entries, func(x, y [2][]byte) int { return bytes.Compare(x[0], y[0]) })
	b = binary.AppendUvarint(b, uint64(len(entries))+1)
	for _, kv := range entries {
		b = append(append(b, kv[0]...), kv[1]...)
	}
	return b, nil
}

func decMap(k, e *shape, m reflect.Value, n int, b []byte) (_ []byte, err error) {
	for range n {
		kv, ev := reflect.New(m.Type().Key()), reflect.New(m.Type().Elem())
		if b, err = k.dec(b, kv.UnsafePointer()); err != nil {
			return nil, err
		}
		if b, err = e.dec(b, ev.UnsafePointer()); err != nil {
			return nil, err
		}
		m.SetMapIndex(kv.Elem(), ev.Elem())
	}
	if m.Len() != n {
		return nil, fmt.Errorf("map: a key twice: %w", ErrCorrupt)
	}
	return b, nil
}

// compileMarshaler gives the shape of a struct that encodes itself, or nil.
func compileMarshaler(t reflect.Type) *shape {
	p := reflect.PointerTo(t)
	s := &shape{schema: t.String(), flat: t == reflect.TypeFor[time.Time](), size: t.Size(), min: 1}
	var marshal func(v any) ([]byte, error)
	var unmarshal func(v any, b []byte) error
	switch {
	case p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) && p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()):
		marshal = func(v any) ([]byte, error) { return v.(encoding.BinaryMarshaler).MarshalBinary() }
		unmarshal = func(v any, b []byte) error { return v.(encoding.BinaryUnmarshaler).UnmarshalBinary(b) }
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		marshal = func(v any) ([]byte, error) { return v.(encoding.TextMarshaler).MarshalText() }
		unmarshal = func(v any, b []byte) error { return v.(encoding.TextUnmarshaler).UnmarshalText(b) }
	default:
		return nil
	}
	s.enc = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		m, err := marshal(reflect.NewAt(t, p).Interface())
		if err != nil {
			return nil, fmt.Errorf("marshal %s: %w", t, err)
		}
		return append(binary.AppendUvarint(b, uint64(len(m))), m...), nil
	}
	s.dec = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		head, rest, err := takeBytes(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		// The user's method may keep the slice it is given.
		if err := unmarshal(reflect.NewAt(t, p).Interface(), bytes.Clone(head)); err != nil {
			return nil, fmt.Errorf("unmarshal %s: %w: %w", t, ErrCorrupt, err)
		}
		return rest, nil
	}
	return s
}
