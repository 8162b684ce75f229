package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
)

// Small items are stored together: a job of many key groups with little in each would otherwise need a round trip and a
// name in its ack for every one. Larger items stay chunks of their own, which are shared between checkpoints as long as
// they do not change.
const (
	smallItem = 4 << 10
	packSize  = 256 << 10
	// packName starts the names of packs.
	packName    = "+pack-"
	packVersion = 1
)

// piece is one chunk before it has a name in the store: an item, or a pack of small items.
type piece struct {
	name string
	data []byte
}

var errPack = errors.New("corrupt pack of items")

// encode serialises the items of a cut one by one and hands on each piece as soon as it is full. Its error is a
// *refusal, or that of emit.
func (a *attempt) encode(ctx context.Context, s *engine.Snapshot, emit func(piece) error) error {
	pack := packer{emit: emit}
	total := int64(0)
	names := make(map[string]bool, len(s.Items))
	for _, item := range s.Items {
		if names[item.Name] {
			return &refusal{events.DeclinedEncodeFailed, fmt.Errorf("two items are named %q", item.Name)}
		}
		names[item.Name] = true
		data, err := item.EncodeContext(ctx)
		if err != nil {
			return &refusal{events.DeclinedEncodeFailed, err}
		}
		if total += int64(len(data)); total > a.cfg.MaxState {
			return &refusal{events.DeclinedLimitExceeded, fmt.Errorf("the state is larger than %d bytes", a.cfg.MaxState)}
		}
		if err := pack.add(item.Name, data); err != nil {
			return err
		}
	}
	return pack.flush()
}

// packer gathers small items. What is packed how depends on the items alone, so an unchanged state gives the same pieces.
type packer struct {
	emit func(piece) error
	pack []byte
	n    int // pieces emitted
	name int // of the next pack
}

func (p *packer) add(name string, data []byte) error {
	// A name that looks like a pack's would be taken for one, so such an item is always within one.
	if len(data) > smallItem && !strings.HasPrefix(name, packName) {
		p.n++
		return p.emit(piece{name, data})
	}
	p.pack = addToPack(p.pack, name, data)
	if len(p.pack) < packSize {
		return nil
	}
	return p.flush()
}

// flush emits what is packed. A state without items is an empty pack: a record without any chunk of a task would look as if
// the task had not been part of the checkpoint.
func (p *packer) flush() error {
	if len(p.pack) == 0 {
		if p.n > 0 {
			return nil
		}
		p.pack = []byte{packVersion}
	}
	full := piece{fmt.Sprintf("%s%d", packName, p.name), p.pack}
	p.pack, p.n, p.name = nil, p.n+1, p.name+1
	return p.emit(full)
}

// addToPack appends one item: version once, then for each item the lengths of name and data and both.
func addToPack(pack []byte, name string, data []byte) []byte {
	if len(pack) == 0 {
		pack = append(pack, packVersion)
	}
	pack = binary.AppendUvarint(pack, uint64(len(name)))
	pack = append(pack, name...)
	pack = binary.AppendUvarint(pack, uint64(len(data)))
	return append(pack, data...)
}

// unpack gives the items of all pieces by name.
func unpack(pieces []piece) (map[string][]byte, error) {
	items := make(map[string][]byte)
	add := func(name string, data []byte) error {
		if _, ok := items[name]; ok {
			return fmt.Errorf("%w: item %q stands twice", errPack, name)
		}
		items[name] = data
		return nil
	}
	for _, p := range pieces {
		var err error
		if strings.HasPrefix(p.name, packName) {
			err = eachInPack(p.data, add)
		} else {
			err = add(p.name, p.data)
		}
		if err != nil {
			return nil, fmt.Errorf("piece %q: %w", p.name, err)
		}
	}
	return items, nil
}

func eachInPack(pack []byte, visit func(name string, data []byte) error) error {
	if len(pack) == 0 || pack[0] != packVersion {
		return fmt.Errorf("%w: unknown version", errPack)
	}
	rest := pack[1:]
	for len(rest) > 0 {
		var name, data []byte
		var err error
		if name, rest, err = takeBytes(rest); err != nil {
			return err
		}
		if data, rest, err = takeBytes(rest); err != nil {
			return err
		}
		if err := visit(string(name), data); err != nil {
			return err
		}
	}
	return nil
}

// takeBytes reads a length and that many bytes.
func takeBytes(b []byte) (taken, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, fmt.Errorf("%w: it ends within an item", errPack)
	}
	return b[k : k+int(n)], b[k+int(n):], nil //nolint:gosec // n is at most len(b)
}
