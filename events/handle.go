package events

import (
	"errors"
	"fmt"
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

func (c *ChunkRef) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "name":
		return true, readText(v, &c.Name)
	case "digest":
		return true, readText(v, &c.Digest)
	case "bytes":
		return true, readNumber(v, 0, &c.Bytes)
	}
	return false, nil
}

func (c *ChunkRef) encode(b []byte) []byte {
	w := openObject(b)
	w.text("name", c.Name)
	w.text("digest", string(c.Digest))
	w.number("bytes", c.Bytes)
	return w.close(c.Unknown)
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
	return len(h.Chunks) == 0 && len(h.Inline) == 0 && len(h.Unknown) == 0
}

// Bytes is the size of the state as stored: all chunks and the inline part.
func (h StateHandle) Bytes() int64 {
	n := int64(len(h.Inline))
	for i := range h.Chunks {
		n += h.Chunks[i].Bytes
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
	err := decodeObject(b, h.set, &h.Unknown)
	if err == nil {
		err = h.validate()
	}
	if err != nil {
		return StateHandle{}, fmt.Errorf("decode state handle: %w: %w", ErrMalformed, err)
	}
	return h, nil
}

func (h *StateHandle) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "chunks":
		h.Chunks = nil
		return true, readList(v, h.addChunk)
	case "inline":
		h.Inline = nil
		if !v.isNull() {
			h.Inline = append(h.Inline, v...)
		}
		return true, nil
	}
	return false, nil
}

func (h *StateHandle) addChunk(v value) error {
	var c ChunkRef
	if err := decodeObject(v, c.set, &c.Unknown); err != nil {
		return err
	}
	h.Chunks = append(h.Chunks, c)
	return nil
}

func (h *StateHandle) encode(b []byte) []byte {
	w := openObject(b)
	w.list("chunks", len(h.Chunks), func(b []byte, i int) []byte { return h.Chunks[i].encode(b) })
	w.raw("inline", h.Inline)
	return w.close(h.Unknown)
}

func (h *StateHandle) validate() error {
	if len(h.Inline) > MaxInline {
		return fmt.Errorf("inline state of %d bytes is more than %d; put it into chunks", len(h.Inline), MaxInline)
	}
	if len(h.Inline) > 0 && !validJSON(h.Inline) {
		return errors.New("inline state is not one JSON value")
	}
	for i := range h.Chunks {
		if h.Chunks[i].Name == "" {
			return fmt.Errorf("chunks[%d] has no name", i)
		}
		if _, err := ParseDigest(string(h.Chunks[i].Digest)); err != nil {
			return fmt.Errorf("chunks[%d]: %w", i, err)
		}
	}
	return nil
}

func validJSON(b []byte) bool {
	s := scanner{b: b}
	s.space()
	if s.value(0) != nil {
		return false
	}
	s.space()
	return s.i == len(b)
}

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
	return m.Sync == 0 && m.Async == 0 && m.Bytes == 0 && m.Records == 0 && m.StartDelay == 0 && len(m.Unknown) == 0
}

func (m *Measures) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "sync_ms":
		return true, readMeasure(v, &m.Sync)
	case "async_ms":
		return true, readMeasure(v, &m.Async)
	case "bytes":
		return true, readMeasure(v, &m.Bytes)
	case "records":
		return true, readMeasure(v, &m.Records)
	case "start_delay_ms":
		return true, readMeasure(v, &m.StartDelay)
	}
	return false, nil
}

// readMeasure clamps below at 0: a bad clock must never cost an ack.
func readMeasure(v value, dst *int64) error {
	err := readNumber(v, minInt64, dst)
	*dst = max(*dst, 0)
	return err
}

func (m *Measures) encode(b []byte) []byte {
	w := openObject(b)
	w.count("sync_ms", max(m.Sync, 0))
	w.count("async_ms", max(m.Async, 0))
	w.count("bytes", max(m.Bytes, 0))
	w.count("records", max(m.Records, 0))
	w.count("start_delay_ms", max(m.StartDelay, 0))
	return w.close(m.Unknown)
}
