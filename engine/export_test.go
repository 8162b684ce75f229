package engine

import "github.com/tidemark-stream/tidemark/engine/state"

// DecodeItem runs the decoder of a small item of the given kind and encodes what it found again, for the fuzz test.
func DecodeItem(kind byte, b []byte) ([]byte, error) {
	switch kind {
	case 'S':
		s, err := decodeSource(b)
		return appendSource(nil, s), err
	case 'W':
		wm, idle, err := decodeWatermark(b)
		return appendWatermark(nil, wm, idle), err
	case 'L':
		n, err := decodeRows(b)
		return appendRows(nil, int(n)), err
	case 'U':
		m, err := decodeUnion(b, 2)
		return appendUnion(nil, m), err
	case 'F':
		s, err := decodeFileState(b)
		return appendFileState(nil, s), err
	case 'T':
		codec, err := state.CodecOf[string]()
		if err != nil {
			return nil, err
		}
		list, err := decodeTransactions[int](b, codec)
		if err != nil {
			return nil, err
		}
		return appendTransactions(nil, codec, list)
	default:
		return nil, ErrCorrupt
	}
}
