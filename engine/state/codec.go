package state

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// ErrType is in the chain of every error of CodecOf: the type cannot be kept in a snapshot.
var ErrType = errors.New("type cannot be kept in state")

// ErrCorrupt is in the chain of every error of a decoder: the bytes are not what the encoder writes.
var ErrCorrupt = errors.New("corrupt state bytes")

// Codec turns values of one type into bytes and back. It is compiled once from the type, holds no state, and may be
// used by any number of goroutines. Equal values give equal bytes: maps are written in the order of their encoded
// keys. Integers keep all 64 bits, floats all their bits, and unexported fields are kept like exported ones.
//
// Supported are booleans, integers, floats, strings, slices, arrays, maps, pointers and structs of them, and every
// struct with MarshalBinary and UnmarshalBinary, or MarshalText and UnmarshalText (such as [time.Time]).
// Refused are interfaces, channels, functions and types that contain themselves.
type Codec[T any] struct {
	shape *shape
}

// CodecOf compiles the codec of T, or says which part of T cannot be kept ([ErrType]).
func CodecOf[T any]() (Codec[T], error) {
	t := reflect.TypeFor[T]()
	s, err := compile(t, nil)
	if err != nil {
		return Codec[T]{}, fmt.Errorf("codec of %s: %w", t, err)
	}
	return Codec[T]{shape: s}, nil
}

// Append writes v behind b. It fails only where a marshaller of the user's own does.
func (c Codec[T]) Append(b []byte, v *T) ([]byte, error) {
	return c.shape.enc(b, unsafe.Pointer(v))
}

// Decode reads one value from the head of b into v, which must be zero, and returns what follows it.
// It never panics and never allocates more than a small multiple of len(b).
func (c Codec[T]) Decode(b []byte, v *T) ([]byte, error) {
	return c.shape.dec(b, unsafe.Pointer(v))
}

// Schema names the structure of T: two types with the same schema read each other's bytes.
func (c Codec[T]) Schema() string { return c.shape.schema }

// Flat says whether an assignment of a T copies all of it: no slice, map or pointer inside.
func (c Codec[T]) Flat() bool { return c.shape.flat }

// Exact says whether two values are encoded the same exactly if == holds for them. It does not where a float is inside, a
// pointer, or a type that encodes itself.
func (c Codec[T]) Exact() bool { return c.shape.exact }

// Clone returns a copy of v that shares nothing mutable with it.
func (c Codec[T]) Clone(v *T) (T, error) {
	if c.shape.flat {
		return *v, nil
	}
	var w T
	b, err := c.Append(nil, v)
	if err == nil {
		_, err = c.Decode(b, &w)
	}
	return w, err
}

// shape is one compiled type: how a value at an address is written and read.
type shape struct {
	schema string
	flat   bool
	exact  bool // two values are encoded the same exactly if == holds
	size   uintptr
	min    int // the fewest bytes that a value takes; a decoder bounds counts with it
	enc    func(b []byte, p unsafe.Pointer) ([]byte, error)
	dec    func(b []byte, p unsafe.Pointer) ([]byte, error)
}

// compile builds the shape of t; outer is the chain of types around it, to find recursion.
func compile(t reflect.Type, outer []reflect.Type) (*shape, error) {
	if slices.Contains(outer, t) {
		return nil, fmt.Errorf("%s contains itself: %w", t, ErrType)
	}
	outer = append(slices.Clip(outer), t)
	switch t.Kind() {
	case reflect.Slice:
		return compileSlice(t, outer)
	case reflect.Array:
		return compileArray(t, outer)
	case reflect.Map:
		return compileMap(t, outer)
	case reflect.Pointer:
		return compilePointer(t, outer)
	case reflect.Struct:
		if s := compileMarshaler(t); s != nil {
			return s, nil
		}
		return compileStruct(t, outer)
	default:
		if s := compileScalar(t); s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("%s (%s): %w", t, t.Kind(), ErrType)
	}
}
