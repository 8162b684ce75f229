package redislog

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Bounds of one page.
const (
	maxCount   = 512      // entries asked for
	firstCount = 64       // before it is known how large entries are
	wantBytes  = 4 << 20  // of a page, by which the count is adapted
	maxBytes   = 64 << 20 // kept of one reply; the rest is asked for again
	maxFields  = 24       // kept of an entry, besides the two that make an event
)

// page is one reply of XRANGE or XREAD as bytes: they are read off the connection first, so that the next command can be on its way
// while they are decoded.
type page struct {
	entries []rawEntry
	spans   []span
	bytes   []byte
	// cut says that the reply had more entries than are kept.
	cut bool
	// keep is how many bytes of a value are kept that is no payload; 0 means as many as go into a copy of poison.
	keep int64
}

// rawEntry is one entry: some spans of its page.
type rawEntry struct {
	at          events.Position
	first, last int // its spans
	id, payload int // the span of their values, or -1
	size        int64
}

// span is a name and the value behind it, as places in the page's bytes. A long one is cut; size is what the value had.
type span struct {
	name, value, end int
	size             int64
}

func (p *page) reset() {
	p.entries, p.spans, p.bytes, p.cut = p.entries[:0], p.spans[:0], p.bytes[:0], false
}

// readRange reads the reply of XRANGE.
func (p *page) readRange(c *conn) error {
	n, err := c.array(0)
	if err != nil {
		return err
	}
	for range n {
		if err := p.readEntry(c); err != nil {
			return err
		}
	}
	return nil
}

// readStream reads the reply of XREAD on one stream, which is nil when nothing came.
func (p *page) readStream(c *conn) error {
	n, err := c.array(1)
	if err != nil || n < 0 {
		return err
	}
	for range n {
		if _, err := c.array(2); err != nil {
			return err
		}
		if _, _, err := c.bulk(nil, 0); err != nil { // name of the stream
			return err
		}
		if err := p.readRange(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) readEntry(c *conn) error {
	if _, err := c.array(2); err != nil {
		return err
	}
	start := len(p.bytes)
	b, _, err := c.bulk(p.bytes, 64)
	if err != nil {
		return err
	}
	at, ok := parsePosition(b[start:])
	if !ok {
		return fmt.Errorf("%w: stream id %q", errProtocol, b[start:])
	}
	p.bytes = b[:start]
	n, err := c.array(0)
	if err != nil {
		return err
	}
	if p.cut = p.cut || len(p.bytes) > maxBytes; p.cut {
		return skipFields(c, n)
	}
	e := rawEntry{at: at, first: len(p.spans), id: -1, payload: -1}
	for range n / 2 {
		if err := p.readField(c, &e); err != nil {
			return err
		}
	}
	e.last = len(p.spans)
	p.entries = append(p.entries, e)
	return nil
}

func skipFields(c *conn, n int64) error {
	for range n {
		if _, _, err := c.bulk(nil, 0); err != nil {
			return err
		}
	}
	return nil
}

// readField reads a name and its value. Of two fields with the same name the last counts, as for a stock subscriber.
func (p *page) readField(c *conn, e *rawEntry) (err error) {
	s := span{name: len(p.bytes)}
	var nameSize int64
	if p.bytes, nameSize, err = c.bulk(p.bytes, eventlog.MaxPoison); err != nil {
		return err
	}
	s.value = len(p.bytes)
	isID := string(p.bytes[s.name:]) == events.FieldID
	isPayload := string(p.bytes[s.name:]) == events.FieldPayload
	keep := max(p.keep, eventlog.MaxPoison)
	if isPayload {
		keep = events.MaxPayload
	}
	if p.bytes, s.size, err = c.bulk(p.bytes, keep); err != nil {
		return err
	}
	s.end = len(p.bytes)
	e.size += nameSize + s.size
	switch {
	case isID:
		e.id = len(p.spans)
	case isPayload:
		e.payload = len(p.spans)
	case len(p.spans)-e.first >= maxFields:
		p.bytes = p.bytes[:s.name]
		return nil
	}
	p.spans = append(p.spans, s)
	return nil
}

// batch decodes the page into a batch that keeps nothing of it.
func (p *page) batch(sampled time.Time, count int) eventlog.Batch {
	b := eventlog.Batch{Sampled: sampled, AtEnd: len(p.entries) < count && !p.cut}
	if len(p.entries) > 0 {
		b.Entries = make([]eventlog.Entry, len(p.entries))
	}
	for i := range p.entries {
		b.Entries[i] = p.decode(&p.entries[i])
	}
	return b
}

func (p *page) decode(e *rawEntry) eventlog.Entry {
	if e.payload >= 0 && p.spans[e.payload].size > events.MaxPayload {
		text := fmt.Sprintf("payload of %d bytes is more than %d", p.spans[e.payload].size, events.MaxPayload)
		fields, size := p.fields(e)
		return eventlog.Entry{Position: e.at, Poison: eventlog.NewPoison(eventlog.PoisonTooLarge, text, fields, size)}
	}
	return eventlog.NewEntry(e.at, p.value(e.id), p.value(e.payload), func() ([]eventlog.Field, int64) { return p.fields(e) })
}

// value is the value of a span, or nil if there is none.
func (p *page) value(i int) []byte {
	if i < 0 {
		return nil
	}
	return p.bytes[p.spans[i].value:p.spans[i].end:p.spans[i].end]
}

func (p *page) fields(e *rawEntry) ([]eventlog.Field, int64) {
	var fields []eventlog.Field
	for _, s := range p.spans[e.first:e.last] {
		fields = append(fields, eventlog.Field{Name: p.bytes[s.name:s.value], Value: p.bytes[s.value:s.end]})
	}
	return fields, e.size
}

// nextCount is how many entries to ask for after this page was the answer to count: as many as hold wantBytes, at most maxCount,
// and at most four times as many as before.
func (p *page) nextCount(count int) int {
	if len(p.entries) == 0 {
		return count
	}
	average := len(p.bytes)/len(p.entries) + 1
	return max(1, min(wantBytes/average, maxCount, 4*count))
}

// parsePosition reads a stream id without making a string of it.
func parsePosition(b []byte) (p events.Position, ok bool) {
	n := uint64(0)
	digits := 0
	for _, c := range b {
		switch {
		case c == '-' && digits > 0 && !ok:
			p.Ms, n, digits, ok = n, 0, 0, true
		case '0' <= c && c <= '9' && digits < 20:
			n = n*10 + uint64(c-'0')
			digits++
		default:
			return events.Position{}, false
		}
	}
	p.Seq = n
	return p, ok && digits > 0
}
