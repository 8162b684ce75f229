package engine

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// Descriptor says what a value per key is, for [Declare].
type Descriptor[V any] struct {
	// Name is unique in its operator.
	Name string
	// Default is what [Value.Get] gives where there is no value; each key gets a copy of its own.
	Default V
	// Version of the meaning of V. State of another version is refused on restore. Less than 1 means 1.
	Version int
	// TTL is how long a value lives; the zero value means for ever. State with and without one does not restore each other.
	TTL TTL
}

// SchemaVersion is Version, at least 1.
func (d Descriptor[V]) SchemaVersion() int { return max(d.Version, 1) }

// String shows name, type, default, version and time to live.
func (d Descriptor[V]) String() string {
	text := fmt.Sprintf("%s %s = %v (version %d)", d.Name, reflect.TypeFor[V](), d.Default, d.SchemaVersion())
	if d.TTL.After > 0 {
		text += fmt.Sprintf(" for %v of %v", d.TTL.After, d.TTL.Domain)
	}
	return text
}

// Declare is [ValueOf] with a default and a schema version. The type itself needs no version: state of another structure is
// refused anyway ([state.ErrSchema]).
func Declare[V any, K comparable](op *Keyed[K], d Descriptor[V]) *Value[K, V] {
	v := valueOf[V](op, d.Name)
	v.initial = d.Default
	if d.TTL != (TTL{}) {
		v.aging = newAging[V](op, d.Name, d.SchemaVersion(), d.TTL)
		return v
	}
	if v.store = newStore[V](op, d.Name); v.store != nil {
		v.store.version = d.SchemaVersion()
	}
	return v
}

// appendVersion writes a schema version behind a table's manifest; version 1 is not written.
func appendVersion(b []byte, version int) []byte {
	if version <= 1 {
		return b
	}
	return binary.AppendUvarint(b, uint64(version))
}

// checkVersion compares a stored schema version with the one that is declared.
func checkVersion(rest []byte, version int) error {
	stored := uint64(1)
	if len(rest) > 0 {
		d := &decoder{b: rest}
		stored = d.uvarint()
		if err := d.finish(); err != nil {
			return err
		}
		if stored <= 1 {
			return fmt.Errorf("schema version %d written out: %w", stored, ErrCorrupt)
		}
	}
	if stored != uint64(max(version, 1)) {
		return fmt.Errorf("stored with schema version %d, now %d: %w", stored, max(version, 1), state.ErrSchema)
	}
	return nil
}
