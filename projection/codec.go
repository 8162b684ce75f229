package projection

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
)

// coder walks over a value and either appends it to b or reads it from b: one description of the layout serves both
// directions, so that they cannot differ. Numbers are varints, texts and lists are preceded by their length.
type coder struct {
	b       []byte
	reading bool
	err     error
}

func (c *coder) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", ErrFoldCorrupt, what)
	}
	c.b = nil
}

// number codes any integer.
func number[T ~int64 | ~int | ~uint8](c *coder, p *T) {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, int64(*p))
		return
	}
	n, size := binary.Varint(c.b)
	if size <= 0 || int64(T(n)) != n {
		c.fail("bad number")
		return
	}
	c.b = c.b[size:]
	*p = T(n)
}

func (c *coder) flag(p *bool) {
	n := int64(0)
	if *p {
		n = 1
	}
	number(c, &n)
	if !c.reading { // saving must not write: a clone shares what has ended with its original
		return
	}
	if n&^1 != 0 {
		c.fail("bad flag")
	}
	*p = n == 1
}

func (c *coder) position(p *events.Position) {
	for _, u := range []*uint64{&p.Ms, &p.Seq} {
		if !c.reading {
			c.b = binary.AppendUvarint(c.b, *u)
			continue
		}
		n, size := binary.Uvarint(c.b)
		if size <= 0 {
			c.fail("bad position")
			return
		}
		c.b = c.b[size:]
		*u = n
	}
}

// text codes a string or bytes; an empty one reads as nil.
func text[T ~string | ~[]byte](c *coder, p *T) {
	n := len(*p)
	number(c, &n)
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	if n < 0 || n > len(c.b) {
		c.fail("text longer than the fold")
		return
	}
	if n > 0 {
		*p = T(append([]byte(nil), c.b[:n]...))
	}
	c.b = c.b[n:]
}

// list codes a slice; an empty one reads as nil. Each element takes a byte at least, so that a damaged length cannot
// allocate more than the fold is long.
func list[T any](c *coder, p *[]T, element func(*T)) {
	n := len(*p)
	number(c, &n)
	if c.reading {
		if n < 0 || n > len(c.b) {
			c.fail("list longer than the fold")
			return
		}
		*p = nil
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			var zero T
			*p = append(*p, zero)
		}
		element(&(*p)[i])
	}
}

func (c *coder) stamp(s *stamp) {
	c.position(&s.pos)
	number(c, &s.at)
}

func (c *coder) handle(h *events.StateHandle) {
	list(c, &h.Chunks, func(r *events.ChunkRef) {
		text(c, &r.Name)
		text(c, &r.Digest)
		number(c, &r.Bytes)
		text(c, &r.Unknown)
	})
	text(c, &h.Inline)
	text(c, &h.Unknown)
}

func (c *coder) measures(m *events.Measures) {
	number(c, &m.Sync)
	number(c, &m.Async)
	number(c, &m.Bytes)
	number(c, &m.Records)
	number(c, &m.StartDelay)
	text(c, &m.Unknown)
}

// slot codes the place of an ack. The checkpoint and task of the ack follow from where it stands, but a carried one is
// of an earlier checkpoint, so that both are written.
func (c *coder) slot(s *slot) {
	filled := s.ack != nil
	c.flag(&filled)
	c.flag(&s.declined)
	if !filled || c.err != nil {
		return
	}
	c.flag(&s.carried)
	c.stamp(&s.at)
	if c.reading {
		s.ack = &events.TaskAcked{}
	}
	a := s.ack
	number(c, &a.Checkpoint)
	text(c, &a.Task)
	number(c, &a.Attempt)
	number(c, &a.Epoch)
	c.handle(&a.Handle)
	text(c, &a.JoiningEvent)
	c.measures(&a.Measures)
	text(c, &a.Unknown)
}

func (c *coder) taskIDs(p *[]events.TaskID) {
	list(c, p, func(t *events.TaskID) { text(c, t) })
}
