package state

import (
	"reflect"
	"sync/atomic"
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
// bytes, integers by their value, everything else by its encoding. Any number of goroutines may use a hasher.
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

// encodedHash keeps the scratch space of one goroutine, so that hashing does not allocate where one hashes at a time.
type encodedHash[K comparable] struct {
	codec Codec[K]
	spare atomic.Pointer[encodedKey[K]]
}

func (h *encodedHash[K]) hash(k K) uint64 {
	e := h.spare.Swap(nil)
	if e == nil {
		e = &encodedKey[K]{codec: h.codec}
	}
	b := e.encode(k)
	sum := Hash64(unsafe.String(unsafe.SliceData(b), len(b)))
	h.spare.Store(e)
	return sum
}

// encodedKey is a key with its encoding, again and again.
type encodedKey[K comparable] struct {
	codec Codec[K]
	key   K
	buf   []byte
}

// encode returns the encoding of k, until it is called again.
func (e *encodedKey[K]) encode(k K) []byte {
	e.key = k
	b, err := e.codec.Append(e.buf[:0], &e.key)
	if err != nil {
		// A key that cannot be encoded cannot be kept; the engine turns this into an error with the record's position.
		panic(err)
	}
	e.buf = b
	return b
}

// Group is the key group of a hash, out of groups many: the remainder. Groups are what state is cut and moved by.
func Group(hash uint64, groups int) int {
	if groups > 0 && groups&(groups-1) == 0 {
		return int(hash & uint64(groups-1)) // a division costs more than the rest of finding a key
	}
	return int(hash % uint64(groups))
}
