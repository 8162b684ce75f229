package engine

import (
	"encoding/binary"
	"fmt"
)

// merge is the watermark of several inputs: the lowest of those that are active, or of the idle ones if none is. It never
// goes back.
type merge struct {
	inputs []mergeInput
	last   int64 // what has been passed on
	idle   bool  // it has been passed on that all are idle
}

// mergeInput is what is known of one input. One that has ended is at [MaxWatermark], and is not idle.
type mergeInput struct {
	mark int64
	idle bool
}

func newMerge(inputs int) merge {
	m := merge{inputs: make([]mergeInput, inputs), last: MinWatermark}
	for i := range m.inputs {
		m.inputs[i].mark = MinWatermark
	}
	return m
}

// setMark takes the watermark of one input.
func (m *merge) setMark(input int, wm int64, out signals) error {
	in := &m.inputs[input]
	if !in.idle && in.mark > m.last && wm != MaxWatermark {
		in.mark = max(in.mark, wm) // Another holds the watermark back, so nothing changes.
		return nil
	}
	in.mark = max(in.mark, wm)
	in.idle = in.idle && wm != MaxWatermark
	return m.settle(out)
}

// setIdle takes whether one input is idle.
func (m *merge) setIdle(input int, idle bool, out signals) error {
	if in := &m.inputs[input]; in.mark != MaxWatermark {
		in.idle = idle
	}
	return m.settle(out)
}

// settle passes on what has changed: that all inputs that have not ended are idle, or that one of them is not any more; and
// the lowest watermark of the active ones. While there are none it is the lowest of the idle ones: once the last active one has
// ended, that may be higher than what it held back.
func (m *merge) settle(out signals) error {
	awake, asleep := MaxWatermark, MaxWatermark // the lowest of each
	idle := false
	for _, in := range m.inputs {
		if in.idle {
			idle = true
			asleep = min(asleep, in.mark)
		} else {
			awake = min(awake, in.mark)
		}
	}
	idle = idle && awake == MaxWatermark
	if idle != m.idle {
		m.idle = idle
		if err := out.idle(idle); err != nil {
			return err
		}
	}
	least := awake
	if idle {
		least = asleep
	}
	if least <= m.last {
		return nil
	}
	m.last = least
	return out.watermark(least)
}

// announce says again what was passed on before the cut that has been adopted.
func (m *merge) announce(out signals) error {
	if m.idle {
		if err := out.idle(true); err != nil {
			return err
		}
	}
	if m.last == MinWatermark {
		return nil
	}
	return out.watermark(m.last)
}

// least takes over the lower of both, input by input: of several subtasks' states it makes one that none of them is ahead of.
func (m *merge) least(o merge) {
	m.last = min(m.last, o.last)
	m.idle = m.idle && o.idle
	for i := range m.inputs {
		m.inputs[i].mark = min(m.inputs[i].mark, o.inputs[i].mark)
		m.inputs[i].idle = m.inputs[i].idle && o.inputs[i].idle
	}
}

// appendMerge writes: last | idle | inputs | each: mark, idle. Marks are signed varints.
func appendMerge(b []byte, m merge) []byte {
	b = appendBool(binary.AppendVarint(b, m.last), m.idle)
	b = binary.AppendUvarint(b, uint64(len(m.inputs)))
	for _, in := range m.inputs {
		b = appendBool(binary.AppendVarint(b, in.mark), in.idle)
	}
	return b
}

// merge reads what appendMerge wrote, for the given number of inputs.
func (d *decoder) merge(inputs int) merge {
	m := merge{last: d.varint(), idle: d.bool()}
	if n := d.uvarint(); d.err == nil && n != uint64(inputs) {
		d.err = fmt.Errorf("stored with %d inputs, now %d: %w", n, inputs, ErrCorrupt)
	}
	for i := 0; i < inputs && d.err == nil; i++ {
		m.inputs = append(m.inputs, mergeInput{d.varint(), d.bool()})
	}
	return m
}

func (m *merge) String() string {
	marks := make([]int64, len(m.inputs))
	for i, in := range m.inputs {
		marks[i] = in.mark
	}
	return fmt.Sprintf("watermarks %d", marks)
}
