package state

import (
	"encoding/binary"
	"fmt"
)

// EncodeGroup writes one key group. The bytes depend on the content alone, not on the order of the writes. Besides the
// result it allocates only what grows with its scratch space, which calls that follow one another share.
//
//	'G' 1 | group | keys | each, in the order of the encoded keys: key, value
func (f *Frozen[K, V]) EncodeGroup(number int) ([]byte, error) {
	s, _ := f.scratch.Get().(*sorter)
	if s == nil {
		s = &sorter{}
	}
	defer f.scratch.Put(s)
	g := &f.groups[number]
	s.reset(g.n)
	for run := range g.runs() {
		for i := range run {
			if err := f.encodeEntry(s, &run[i]); err != nil {
				return nil, fmt.Errorf("encode group %d: %w", number, err)
			}
		}
	}
	b := make([]byte, 0, 2+2*binary.MaxVarintLen64+len(s.bytes))
	b = append(b, kindGroup, formatVersion)
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(number)), uint64(g.n))
	return s.append(b), nil
}

func (f *Frozen[K, V]) encodeEntry(s *sorter, e *entry[K, V]) error {
	at := len(s.bytes)
	b, err := f.keys.Append(s.bytes, &e.key)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	key := len(b)
	if b, err = f.vals.Append(b, &e.val); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	s.bytes = b
	s.items = append(s.items, item{at: at, key: key, end: len(b)})
	return nil
}
