package projection

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// FoldVersion numbers the rules of the fold together with the layout of a saved one. It rises with each change of either:
// a state that other rules made is no starting point.
const FoldVersion = 3

// foldMagic stands before the version, so that foreign bytes are told from an older fold.
const foldMagic = "tmfold"

// MarshalBinary saves the fold: magic, FoldVersion, position, state, CRC-32. Equal states give equal bytes. It never fails.
// The transport may compress it: acks are most of it.
func (s *State) MarshalBinary() ([]byte, error) {
	c := &coder{b: binary.AppendUvarint([]byte(foldMagic), FoldVersion)}
	c.state(s)
	return binary.BigEndian.AppendUint32(c.b, crc32.ChecksumIEEE(c.b)), nil
}

// UnmarshalBinary replaces the state by a saved one and checks its invariants. A state that was made for a job takes only
// that job's fold. The error wraps [ErrFoldVersion], [ErrFoldCorrupt] or [ErrFoldJob], and the state is as it was.
func (s *State) UnmarshalBinary(b []byte) error {
	body, err := openFold(b)
	if err != nil {
		return fmt.Errorf("read fold: %w", err)
	}
	loaded := New("")
	c := &coder{b: body, reading: true}
	c.state(loaded)
	switch {
	case c.err != nil:
		return fmt.Errorf("read fold: %w", c.err)
	case len(c.b) > 0:
		return fmt.Errorf("read fold: %w: %d bytes follow it", ErrFoldCorrupt, len(c.b))
	case s.job != "" && loaded.job != s.job:
		return fmt.Errorf("read fold: %w: %q, not %q", ErrFoldJob, loaded.job, s.job)
	}
	if err := loaded.Check(); err != nil {
		return fmt.Errorf("read fold: %w: %w", ErrFoldCorrupt, err)
	}
	*s = *loaded
	return nil
}

// openFold checks what stands around the state.
func openFold(b []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(b, []byte(foldMagic))
	if !ok {
		return nil, fmt.Errorf("%w: it begins with other bytes", ErrFoldCorrupt)
	}
	version, n := binary.Uvarint(rest)
	if n <= 0 {
		return nil, fmt.Errorf("%w: no version", ErrFoldCorrupt)
	}
	if version != FoldVersion {
		return nil, fmt.Errorf("%w: %d, not %d", ErrFoldVersion, version, FoldVersion)
	}
	end := len(b) - 4
	if end < len(foldMagic)+n || binary.BigEndian.Uint32(b[end:]) != crc32.ChecksumIEEE(b[:end]) {
		return nil, fmt.Errorf("%w: the checksum differs", ErrFoldCorrupt)
	}
	return b[len(foldMagic)+n : end], nil
}

func (c *coder) state(s *State) {
	c.position(&s.position)
	text(c, &s.job)
	number(c, &s.epoch)
	text(c, &s.instance)
	c.position(&s.since)
	number(c, &s.maxEpoch)
	c.policy(&s.policy)
	c.position(&s.trimmed)
	number(c, &s.gaps)
	number(c, &s.gap.Epoch)
	c.position(&s.gap.After)
	c.position(&s.gap.Before)
	text(c, &s.gap.Cause)
	number(c, &s.attemptFloor)
	number(c, &s.tasksVersion)
	number(c, &s.nextID)
	c.tasks(s)
	c.checkpoints(s)
	c.history(&s.history)
	c.requests(&s.requests)
	c.statistics(&s.stats)
	if c.reading {
		s.indexTasks()
		s.countReady()
	}
}

func (c *coder) policy(p *events.Policy) {
	c.taskIDs(&p.Tasks)
	for _, n := range []*int64{&p.Count, &p.Interval, &p.MinPause, &p.Timeout, &p.MaxConcurrent, &p.Retain, &p.QueueLimit} {
		number(c, n)
	}
	text(c, &p.Unknown)
}

func (c *coder) tasks(s *State) {
	var rows []*task
	for _, t := range s.tasks {
		rows = append(rows, t)
	}
	slices.SortFunc(rows, func(a, b *task) int { return strings.Compare(string(a.sum.ID), string(b.sum.ID)) })
	list(c, &rows, func(row **task) {
		if c.reading {
			*row = &task{}
		}
		t := *row
		text(c, &t.sum.ID)
		text(c, &t.sum.Instance)
		number(c, &t.sum.Attempt)
		number(c, &t.sum.Phase)
		number(c, &t.sum.Restore)
		number(c, &t.sum.Given)
		c.flag(&t.sum.Pinned)
		number(c, &t.sum.Finished)
		c.position(&t.sum.Registered)
		text(c, &t.sum.Host)
		number(c, &t.sum.PID)
		c.flag(&t.sum.Left)
		number(c, &t.sum.Doubt.Checkpoint)
		number(c, &t.sum.Doubt.Attempt)
		text(c, &t.sum.Doubt.Reason)
		text(c, &t.sum.Doubt.Text)
		list(c, &t.instances, func(i *events.InstanceID) { text(c, i) })
		c.slot(&t.end)
		if c.reading {
			s.tasks[t.sum.ID] = t
		}
	})
}

func (c *coder) requests(q *requests) {
	rows := q.order
	if c.reading {
		rows = nil
	}
	list(c, &rows, func(row **Request) {
		if c.reading {
			*row = &Request{}
		}
		r := *row
		text(c, &r.ID)
		number(c, &r.Status)
		c.flag(&r.Abort)
		c.flag(&r.Withdraw)
		c.flag(&r.Forced)
		c.flag(&r.ToNothing)
		text(c, &r.Type)
		text(c, &r.JoiningEvent)
		number(c, &r.UpTo)
		text(c, &r.Cause)
		text(c, &r.By)
		c.position(&r.Position)
		number(c, &r.At)
		number(c, &r.Checkpoint)
		text(c, &r.Reason)
		text(c, &r.Remedy)
		c.flag(&r.conflict)
		number(c, &r.open)
		if c.reading {
			q.restore(r)
		}
	})
}
