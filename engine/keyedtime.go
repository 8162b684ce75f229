package engine

import (
	"encoding/binary"
	"fmt"
)

// keepTime makes the operator follow the time, for timers and for state that expires; what stands for it is part of the cut.
func (op *Keyed[K]) keepTime() {
	if op.timely {
		return
	}
	op.timely = true
	op.times = standIns{scope: op.task.scope(op.name + ".time"), at: [timeDomains]int64{MinWatermark, MinWatermark}}
	if !op.timed || op.task.cfg.Clock == nil {
		op.place.clocked = true
	}
	op.task.exec.register(&op.times)
}

// now is the present of a domain.
func (op *Keyed[K]) now(d TimeDomain) int64 {
	if d == InProcessingTime && op.task.cfg.Clock != nil {
		return op.task.cfg.Clock()
	}
	return op.times.at[d]
}

// standIns is how far an operator's time has come. Where there are watermarks or a clock, those tell it.
type standIns struct {
	scope
	at [timeDomains]int64
}

// cut writes 'C' 1 | event time | processing time, as signed varints.
func (s *standIns) cut(int64) ([]Item, error) {
	return []Item{bytesItem(s.partName(), appendTimes(nil, s.at))}, nil
}

// load takes the latest of several subtasks: every record's time is told to all of them.
func (s *standIns) load(items *items, mode RestoreMode) (func(), error) {
	at := [timeDomains]int64{MinWatermark, MinWatermark}
	for _, name := range s.stored(items) {
		b, err := items.take(name)
		if err != nil {
			return nil, err
		}
		stored, err := decodeTimes(b)
		if err != nil {
			return nil, err
		}
		for d := range at {
			at[d] = max(at[d], stored[d])
		}
	}
	items.noteOne(Entry{Item: s.name, Content: fmt.Sprintf("event time %d, processing time %d", at[0], at[1])})
	return func() {
		if mode == Adopt {
			s.at = at
		}
	}, nil
}

func appendTimes(b []byte, at [timeDomains]int64) []byte {
	b = append(b, 'C', itemVersion)
	for _, t := range at {
		b = binary.AppendVarint(b, t)
	}
	return b
}

func decodeTimes(b []byte) (at [timeDomains]int64, err error) {
	d := newDecoder(b, 'C')
	for i := range at {
		at[i] = d.varint()
	}
	return at, d.finish()
}
