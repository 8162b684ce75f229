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
	case 'C':
		at, err := decodeTimes(b)
		return appendTimes(nil, at), err
	case 'P':
		i, err := newItems(map[string][]byte{parallelismItem: b})
		if err != nil {
			return nil, err
		}
		return appendParallelism(nil, i.parallelism), nil
	case 'X':
		return decodeExchange(b)
	default:
		return nil, ErrCorrupt
	}
}

// decodeExchange is for an exchange between two subtasks and two, of numbers with texts as keys.
func decodeExchange(b []byte) ([]byte, error) {
	vals, err := state.CodecOf[element[string, int64]]()
	if err != nil {
		return nil, err
	}
	x := &exchange[string, int64]{vals: vals, senders: make([]*sender[string, int64], 2), gates: make([]*gate[string, int64], 2)}
	merges, under, err := x.decode(b)
	if err != nil {
		return nil, err
	}
	b = []byte{'X', itemVersion, 2, 2}
	for _, m := range merges {
		b = appendMerge(b, m)
	}
	for _, list := range under {
		if b, err = x.appendTransit(b, transit[string, int64]{elements: list}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// SubtaskOf says which subtask has a key group.
func SubtaskOf(group, groups, subtasks int) int { return subtaskOf(group, groups, subtasks) }
