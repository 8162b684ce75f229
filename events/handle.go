package events

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

// MaxInline is the largest inline state of one ack, in bytes: 64 KiB. More belongs into chunks, since every reader of
// the log reads what stands in it.
const MaxInline = 64 << 10

// Digest names a state chunk by its content: the SHA-256 of the raw bytes, 64 lower-case hex digits.
type Digest string

// ParseDigest returns s as a digest, or an error that wraps [ErrInvalidID].
func ParseDigest(s string) (Digest, error) {
	if len(s) != 64 {
		return "", fmt.Errorf("%w: digest of %d characters, want 64", ErrInvalidID, len(s))
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return "", fmt.Errorf("%w: digest %q has %q at byte %d; want lower-case hex", ErrInvalidID, s, c, i)
		}
	}
	return Digest(s), nil
}

func (d Digest) String() string { return string(d) }

// IsZero reports whether the digest is absent.
func (d Digest) IsZero() bool { return d == "" }

// ChunkRef is one piece of a task's state: what it is, and where.
type ChunkRef struct {
	// Name is the task's own name for the piece, such as "window-1/g17"; unique in one handle.
	Name   string
	Digest Digest
	// Bytes is its size as stored, framed and compressed.
	Bytes   int64
	Unknown Unknown
}

func (c *ChunkRef) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "name":
		readText(s, &c.Name)
	case "digest":
		readText(s, &c.Digest)
	case "bytes":
		readNumber(s, &c.Bytes)
	default:
		return false
	}
	return true
}

func (c *ChunkRef) encode(b []byte) []byte {
	b = append(b, '{')
	b = appendText(b, "name", c.Name)
	b = appendText(b, "digest", c.Digest)
	b = appendNumber(b, "bytes", c.Bytes)
	return appendEnd(b, c.Unknown)
}

func (c *ChunkRef) unknown() *Unknown { return &c.Unknown }

func (c *ChunkRef) validate() error {
	if c.Name == "" {
		return errors.New("no name")
	}
	if _, err := ParseDigest(string(c.Digest)); err != nil {
		return err
	}
	return firstOf(checkLeast("bytes", c.Bytes, 0), c.Unknown.check(levelField+2))
}

// StateHandle is what a restore of one task needs: chunks in the store, or a small state in the ack itself, or nothing
// for a task without state.
type StateHandle struct {
	Chunks []ChunkRef
	// Inline is one JSON value of at most [MaxInline] bytes; nil for none.
	Inline  []byte
	Unknown Unknown
}

// IsZero reports whether the task has no state.
func (h StateHandle) IsZero() bool {
	return len(h.Chunks) == 0 && len(h.inline()) == 0 && len(h.Unknown) == 0
}

// Bytes is the size of the state as stored: all chunks and the inline part. It stops at the largest int64.
func (h StateHandle) Bytes() int64 {
	n := int64(len(h.inline()))
	for i := range h.Chunks {
		if n += h.Chunks[i].Bytes; n < 0 {
			return math.MaxInt64
		}
	}
	return n
}

// Encode appends the handle as JSON to b, as it stands in an ack and in a checkpoint record.
func (h StateHandle) Encode(b []byte) ([]byte, error) {
	if err := h.validate(); err != nil {
		return b, fmt.Errorf("encode state handle: %w: %w", ErrMalformed, err)
	}
	return h.encode(b), nil
}

// DecodeHandle reads what [StateHandle.Encode] wrote; the error wraps [ErrMalformed].
func DecodeHandle(b []byte) (StateHandle, error) {
	var h StateHandle
	s := scanner{b: b, depth: levelField - 1}
	s.read(&h)
	s.end()
	err := s.err
	if err == nil {
		err = h.validate()
	}
	if err != nil {
		return StateHandle{}, fmt.Errorf("decode state handle: %w: %w", ErrMalformed, err)
	}
	return h, nil
}

func (h *StateHandle) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "chunks":
		readList(s, &h.Chunks, readChunk)
	case "inline":
		h.Inline = nil
		if !s.null() {
			h.Inline = append(h.Inline, s.raw()...)
		}
	default:
		return false
	}
	return true
}

func readChunk(s *scanner, c *ChunkRef) {
	if readObject(s, c); c.Name == "" {
		s.fail("chunk has no name")
	}
}

// inline is the inline state as it is written: without space around it, and nothing for null.
func (h *StateHandle) inline() []byte {
	b := bytes.TrimSpace(h.Inline)
	if string(b) == "null" {
		return nil
	}
	return b
}

func (h *StateHandle) encode(b []byte) []byte {
	b = append(b, '{')
	if len(h.Chunks) > 0 {
		b = append(appendName(b, "chunks"), '[')
		for i := range h.Chunks {
			b = h.Chunks[i].encode(appendComma(b))
		}
		b = append(b, ']')
	}
	if in := h.inline(); len(in) > 0 {
		b = append(appendName(b, "inline"), in...)
	}
	return appendEnd(b, h.Unknown)
}

func (h *StateHandle) validate() error {
	if len(h.Inline) > MaxInline {
		return fmt.Errorf("inline state of %d bytes is more than %d; put it into chunks", len(h.Inline), MaxInline)
	}
	if len(h.Inline) > 0 {
		s := scanner{b: h.Inline, depth: levelField}
		s.skip()
		if s.end(); s.err != nil {
			return fmt.Errorf("inline state: %w", s.err)
		}
	}
	for i := range h.Chunks {
		if err := h.Chunks[i].validate(); err != nil {
			return fmt.Errorf("chunks[%d]: %w", i, err)
		}
	}
	return h.Unknown.check(levelField)
}

func (h *StateHandle) unknown() *Unknown { return &h.Unknown }

// Measures is what a worker measured while it took its part. Times are in milliseconds of the worker's clock and only
// shown: a negative one (a clock that stepped) is read as 0. Zero means unknown.
type Measures struct {
	// Sync is the time under the checkpoint lock, Async the time to serialise and upload.
	Sync, Async int64
	// Bytes is what was written for this checkpoint: unchanged chunks are not written again.
	Bytes int64
	// Records is how many records the task has processed up to the cut.
	Records int64
	// StartDelay is the time from the trigger to the start of the cut.
	StartDelay int64
	Unknown    Unknown
}

// IsZero reports whether nothing was measured.
func (m Measures) IsZero() bool {
	return max(m.Sync, m.Async, m.Bytes, m.Records, m.StartDelay) <= 0 && len(m.Unknown) == 0
}

func (m *Measures) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "sync_ms":
		readMeasure(s, &m.Sync)
	case "async_ms":
		readMeasure(s, &m.Async)
	case "bytes":
		readMeasure(s, &m.Bytes)
	case "records":
		readMeasure(s, &m.Records)
	case "start_delay_ms":
		readMeasure(s, &m.StartDelay)
	default:
		return false
	}
	return true
}

// readMeasure clamps below at 0: a bad clock must never cost an ack.
func readMeasure(s *scanner, dst *int64) {
	readNumber(s, dst)
	*dst = max(*dst, 0)
}

func (m *Measures) encode(b []byte) []byte {
	b = append(b, '{')
	b = appendCount(b, "sync_ms", max(m.Sync, 0))
	b = appendCount(b, "async_ms", max(m.Async, 0))
	b = appendCount(b, "bytes", max(m.Bytes, 0))
	b = appendCount(b, "records", max(m.Records, 0))
	b = appendCount(b, "start_delay_ms", max(m.StartDelay, 0))
	return appendEnd(b, m.Unknown)
}

func (m *Measures) unknown() *Unknown { return &m.Unknown }
