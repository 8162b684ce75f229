package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// appendTransactions writes the item of a two-phase sink: 'T' 1 | schema of Txn | transactions | each: id of the cut that closed
// it (signed varint), length, bytes. Numbers are unsigned varints otherwise.
func appendTransactions[T, Txn any](b []byte, codec state.Codec[Txn], list []*transaction[T, Txn]) ([]byte, error) {
	b = appendString(append(b, 'T', itemVersion), codec.Schema())
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, tx := range list {
		handle, err := codec.Append(nil, &tx.handle)
		if err != nil {
			return nil, fmt.Errorf("transaction %v: %w", tx.handle, err)
		}
		b = appendString(binary.AppendVarint(b, tx.cut), string(handle))
	}
	return b, nil
}

func decodeTransactions[T, Txn any](b []byte, codec state.Codec[Txn]) ([]*transaction[T, Txn], error) {
	d := newDecoder(b, 'T')
	schema, n := d.string(), d.uvarint()
	if d.err == nil && schema != codec.Schema() {
		return nil, fmt.Errorf("transactions stored as %s, now %s: %w", schema, codec.Schema(), state.ErrSchema)
	}
	var list []*transaction[T, Txn]
	for i := uint64(0); i < n && d.err == nil; i++ {
		tx := &transaction[T, Txn]{cut: d.varint(), begun: true, prepared: true}
		handle := d.string()
		if d.err != nil {
			break
		}
		rest, err := codec.Decode([]byte(handle), &tx.handle)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes too many: %w", len(rest), ErrCorrupt)
		}
		if err != nil {
			return nil, fmt.Errorf("transaction %d: %w", i+1, err)
		}
		list = append(list, tx)
	}
	return list, d.finish()
}
