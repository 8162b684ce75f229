package state

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrSchema is in the chain of the error of [Table.Accepts]: the stored table is of another type or another number of
// key groups.
var ErrSchema = errors.New("stored state has another schema")

// Manifest is what a stored table consists of.
type Manifest struct {
	Schema string
	Groups int         // key groups in all
	Used   []GroupSize // those that hold something, ascending
}

// GroupSize is one key group that holds something.
type GroupSize struct{ Number, Keys int }

// DecodeManifest reads what [Frozen.AppendManifest] wrote, and returns what follows it.
func DecodeManifest(b []byte) (Manifest, []byte, error) {
	b, err := takeHeader(b, kindManifest)
	if err != nil {
		return Manifest{}, nil, fmt.Errorf("manifest: %w", err)
	}
	schema, b, err := takeBytes(b)
	if err != nil {
		return Manifest{}, nil, fmt.Errorf("manifest schema: %w", err)
	}
	m := Manifest{Schema: string(schema)}
	if m.Groups, b, err = takeInt(b); err != nil {
		return Manifest{}, nil, fmt.Errorf("manifest groups: %w", err)
	}
	used, b, err := takeInt(b)
	if err != nil || used > m.Groups || used > len(b) {
		return Manifest{}, nil, fmt.Errorf("manifest groups in use: %w", ErrCorrupt)
	}
	last := -1
	for range used {
		var s GroupSize
		if s.Number, b, err = takeInt(b); err == nil {
			s.Keys, b, err = takeInt(b)
		}
		if err != nil || s.Number <= last || s.Number >= m.Groups || s.Keys == 0 {
			return Manifest{}, nil, fmt.Errorf("manifest group: %w", ErrCorrupt)
		}
		last = s.Number
		m.Used = append(m.Used, s)
	}
	return m, b, nil
}

// Empty returns a new table of the same kind, with nothing in it.
func (t *Table[K, V]) Empty() *Table[K, V] {
	return NewTable(len(t.groups), t.hash, t.keys, t.vals)
}

// Accepts says whether the table described by m can be loaded into one like t ([ErrSchema] if not).
func (t *Table[K, V]) Accepts(m Manifest) error {
	if own := schemaOf(t.keys, t.vals); m.Schema != own {
		return fmt.Errorf("stored as %s, now %s: %w", m.Schema, own, ErrSchema)
	}
	if m.Groups != len(t.groups) {
		return fmt.Errorf("stored with %d key groups, now %d: %w", m.Groups, len(t.groups), ErrSchema)
	}
	return nil
}

// DecodeGroup adds the entries of one stored key group, which must be the one that size says. After an error the table
// is of no use.
func (t *Table[K, V]) DecodeGroup(size GroupSize, b []byte) error {
	b, err := takeHeader(b, kindGroup)
	if err != nil {
		return err
	}
	number, b, err := takeInt(b)
	if err != nil || number != size.Number || number >= len(t.groups) {
		return fmt.Errorf("group number %d: %w", number, ErrCorrupt)
	}
	n, b, err := takeInt(b)
	if err != nil || n != size.Keys {
		return fmt.Errorf("%d keys where the manifest says %d: %w", n, size.Keys, ErrCorrupt)
	}
	t.reserve(number, min(n, len(b)/max(1, t.keys.shape.min+t.vals.shape.min)))
	for range n {
		if b, err = t.decodeEntry(number, b); err != nil {
			return err
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes too many: %w", len(b), ErrCorrupt)
	}
	return nil
}

// decodeEntry adds the entry at the head of b, which belongs in one group, and returns what follows.
func (t *Table[K, V]) decodeEntry(number int, b []byte) ([]byte, error) {
	g := &t.groups[number]
	e := t.behind(g)
	b, err := t.keys.Decode(b, &e.key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if b, err = t.vals.Decode(b, &e.val); err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	hash := t.hash(e.key)
	if Group(hash, len(t.groups)) != number {
		return nil, fmt.Errorf("a key of another group: %w", ErrCorrupt)
	}
	h := t.slotHash(g, hash, e.key)
	if _, found := t.find(g, h, e.key); found {
		return nil, fmt.Errorf("a key twice: %w", ErrCorrupt)
	}
	t.insert(g, h, e.key)
	return b, nil
}

// takeHeader checks the two bytes at the head of an item.
func takeHeader(b []byte, kind byte) ([]byte, error) {
	if len(b) < 2 || b[0] != kind {
		return nil, fmt.Errorf("not an item of kind %q: %w", kind, ErrCorrupt)
	}
	if b[1] != formatVersion {
		return nil, fmt.Errorf("layout version %d, known is %d: %w", b[1], formatVersion, ErrVersion)
	}
	return b[2:], nil
}

// takeInt reads an unsigned varint that counts something.
func takeInt(b []byte) (int, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > 1<<32 {
		return 0, nil, ErrCorrupt
	}
	return int(v), b[n:], nil
}
