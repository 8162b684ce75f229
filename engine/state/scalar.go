package state

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// compileScalar gives the shape of booleans, numbers and strings, or nil.
func compileScalar(t reflect.Type) *shape {
	s := &shape{schema: t.Kind().String(), flat: true, exact: true, size: t.Size(), min: 1}
	switch t.Kind() {
	case reflect.Bool:
		s.enc, s.dec = encBool, decBool
	case reflect.Int:
		integer[int](s)
	case reflect.Int8:
		integer[int8](s)
	case reflect.Int16:
		integer[int16](s)
	case reflect.Int32:
		integer[int32](s)
	case reflect.Int64:
		integer[int64](s)
	case reflect.Uint:
		unsigned[uint](s)
	case reflect.Uint8:
		unsigned[uint8](s)
	case reflect.Uint16:
		unsigned[uint16](s)
	case reflect.Uint32:
		unsigned[uint32](s)
	case reflect.Uint64:
		unsigned[uint64](s)
	case reflect.Float32:
		s.exact, s.min, s.enc, s.dec = false, 4, encFloat32, decFloat32
	case reflect.Float64:
		s.exact, s.min, s.enc, s.dec = false, 8, encFloat64, decFloat64
	case reflect.String:
		s.enc, s.dec = encString, decString
	default:
		return nil
	}
	return s
}

func integer[N int | int8 | int16 | int32 | int64](s *shape) {
	s.enc = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		return binary.AppendVarint(b, int64(*(*N)(p))), nil
	}
	s.dec = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		v, n := binary.Varint(b)
		if n <= 0 || int64(N(v)) != v {
			return nil, fmt.Errorf("%s: %w", s.schema, ErrCorrupt)
		}
		*(*N)(p) = N(v)
		return b[n:], nil
	}
}

func unsigned[N uint | uint8 | uint16 | uint32 | uint64](s *shape) {
	s.enc = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		return binary.AppendUvarint(b, uint64(*(*N)(p))), nil
	}
	s.dec = func(b []byte, p unsafe.Pointer) ([]byte, error) {
		v, n := binary.Uvarint(b)
		if n <= 0 || uint64(N(v)) != v {
			return nil, fmt.Errorf("%s: %w", s.schema, ErrCorrupt)
		}
		*(*N)(p) = N(v)
		return b[n:], nil
	}
}

func encBool(b []byte, p unsafe.Pointer) ([]byte, error) {
	if *(*bool)(p) {
		return append(b, 1), nil
	}
	return append(b, 0), nil
}

func decBool(b []byte, p unsafe.Pointer) ([]byte, error) {
	if len(b) == 0 || b[0] > 1 {
		return nil, fmt.Errorf("bool: %w", ErrCorrupt)
	}
	*(*bool)(p) = b[0] == 1
	return b[1:], nil
}

func encFloat32(b []byte, p unsafe.Pointer) ([]byte, error) {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(*(*float32)(p))), nil
}

func decFloat32(b []byte, p unsafe.Pointer) ([]byte, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("float32: %w", ErrCorrupt)
	}
	*(*float32)(p) = math.Float32frombits(binary.LittleEndian.Uint32(b))
	return b[4:], nil
}

func encFloat64(b []byte, p unsafe.Pointer) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(*(*float64)(p))), nil
}

func decFloat64(b []byte, p unsafe.Pointer) ([]byte, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("float64: %w", ErrCorrupt)
	}
	*(*float64)(p) = math.Float64frombits(binary.LittleEndian.Uint64(b))
	return b[8:], nil
}

func encString(b []byte, p unsafe.Pointer) ([]byte, error) {
	s := *(*string)(p)
	return append(binary.AppendUvarint(b, uint64(len(s))), s...), nil
}

func decString(b []byte, p unsafe.Pointer) ([]byte, error) {
	head, rest, err := takeBytes(b)
	if err != nil {
		return nil, fmt.Errorf("string: %w", err)
	}
	*(*string)(p) = string(head)
	return rest, nil
}

// takeBytes reads a length and that many bytes.
func takeBytes(b []byte) (head, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, ErrCorrupt
	}
	return b[k : k+int(n)], b[k+int(n):], nil
}
