package state

import (
	"bytes"
	"hash/maphash"
)

// sameness compares keys by their encoding, where == does not say the same ([shape.exact]): where a float is inside (NaN
// differs from itself, and 0 equals -0), a pointer, or a type that encodes itself. By == such a key would be another one
// after a restore. It keeps its scratch space, so that comparing does not allocate.
type sameness[K comparable] struct{ a, b encodedKey[K] }

func samenessOf[K comparable](c Codec[K]) *sameness[K] {
	return &sameness[K]{encodedKey[K]{codec: c}, encodedKey[K]{codec: c}}
}

func (s *sameness[K]) of(x, y K) bool { return bytes.Equal(s.a.encode(x), s.b.encode(y)) }

// spreader returns a hash of whole keys, for the groups in which too many keys share their hash of the table. It decides
// nothing that lasts, so it may differ between processes; nobody can choose keys against it.
func spreader[K comparable](c Codec[K]) func(K) uint64 {
	if !c.shape.exact {
		return Hasher(c)
	}
	seed := maphash.MakeSeed()
	return func(k K) uint64 { return maphash.Comparable(seed, k) }
}
