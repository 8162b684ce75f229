package state

import (
	"reflect"
	"unsafe"
)

// Hash64 is the hash that places keys in key groups: FNV-1a with a final mix. It is part of the format of snapshots and
// never changes.
func Hash64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}

// mix is the finaliser of MurmurHash3: FNV alone leaves the low bits of short keys close together.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// mixInt hashes a number; the offset keeps 0 from hashing to 0.
func mixInt(v uint64) uint64 { return mix(v + 0x9e3779b97f4a7c15) }

// Hasher returns the stable hash of keys of type K: the same in every process, on every machine. Strings hash by their
// bytes, integers by their value, everything else by its encoding. One hasher serves one goroutine at a time.
func Hasher[K comparable](c Codec[K]) func(K) uint64 {
	switch reflect.TypeFor[K]().Kind() {
	case reflect.String:
		return func(k K) uint64 { return Hash64(*(*string)(unsafe.Pointer(&k))) }
	case reflect.Int:
		return func(k K) uint64 { return mixInt(uint64(*(*int)(unsafe.Pointer(&k)))) }
	case reflect.Uint:
		return func(k K) uint64 { return mixInt(uint64(*(*uint)(unsafe.Pointer(&k)))) }
	case reflect.Int64, reflect.Uint64:
		return func(k K) uint64 { return mixInt(*(*uint64)(unsafe.Pointer(&k))) }
	}
	h := &encodedHash[K]{codec: c}
	return h.hash
}

// encodedHash keeps its scratch space, so that hashing does not allocate.
type encodedHash[K comparable] struct {
	codec Codec[K]
	key   K
	buf   []byte
}

func (h *encodedHash[K]) hash(k K) uint64 {
	b := h.encode(k)
	return Hash64(unsafe.String(unsafe.SliceData(b), len(b)))
}

// encode returns the encoding of k, until it is called again.
func (h *encodedHash[K]) encode(k K) []byte {
	h.key = k
	b, err := h.codec.Append(h.buf[:0], &h.key)
	if err != nil {
		// A key that cannot be encoded cannot be kept; the engine turns this into an error with the record's position.
		panic(err)
	}
	h.buf = b
	return b
}

// Group is the key group of a hash, out of groups many: the remainder. Groups are what state is cut and moved by.
func Group(hash uint64, groups int) int {
	if groups > 0 && groups&(groups-1) == 0 {
		return int(hash & uint64(groups-1)) // a division costs more than the rest of finding a key
	}
	return int(hash % uint64(groups))
}
