package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/events"
)

// DefaultMaxRecord is the default limit of an encoded record, in bytes. State of that size belongs into chunks.
const DefaultMaxRecord = 16 << 20

const maxNonce = 128

// Members of a record, in the order in which they are written.
const (
	memberID        = "id"
	memberTimestamp = "timestamp"
	memberCompleted = "completed"
	memberVersion   = "version"
	memberNonce     = "nonce"
	memberState     = "state"
	memberSum       = "crc32c"
)

// sumLen is the length of the checksum member at the end of a record: ,"crc32c":"xxxxxxxx"}.
const sumLen = len(`,"crc32c":"00000000"}`)

// EncodeRecord returns the stored form of a checkpoint, the same bytes for the same content. An error wraps [ErrInvalid],
// [ErrVersion], or, beyond limit bytes, [ErrTooLarge]; a limit of 0 means [DefaultMaxRecord].
func EncodeRecord(c *Checkpoint, limit int) ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 256), `{"id":`...)
	b = strconv.AppendInt(b, int64(c.ID), 10)
	b = strconv.AppendInt(append(b, `,"timestamp":`...), c.Timestamp, 10)
	b = strconv.AppendBool(append(b, `,"completed":`...), c.Completed)
	if c.Version != LegacySnapshotVersion {
		b = strconv.AppendInt(append(b, `,"version":`...), int64(c.Version), 10)
	}
	var err error
	if c.Nonce != "" {
		if b, err = appendString(append(b, `,"nonce":`...), c.Nonce); err != nil {
			return nil, fmt.Errorf("encode checkpoint %v: nonce: %w", c.ID, err)
		}
	}
	state := c.State
	if state == nil {
		state = State{}
	}
	if b, err = appendValue(append(b, `,"state":`...), state, 0); err != nil {
		return nil, fmt.Errorf("encode checkpoint %v: state %w", c.ID, err)
	}
	if b, err = appendExtra(b, c.Extra); err != nil {
		return nil, fmt.Errorf("encode checkpoint %v: %w", c.ID, err)
	}
	b = fmt.Appendf(b, `,"crc32c":"%08x"}`, checksum(b))
	return b, checkSize(c.ID, len(b), limit)
}

// DecodeRecord reads the stored form of checkpoint id. Key is what errors call it. An error is a [*CorruptError], a
// [*VersionError], or wraps [ErrTooLarge]; a limit of 0 means [DefaultMaxRecord].
func DecodeRecord(key string, id events.CheckpointID, data []byte, limit int) (*Checkpoint, error) {
	if err := checkSize(id, len(data), limit); err != nil {
		return nil, err
	}
	if err := verifyBytes(data); err != nil {
		return nil, corrupt(key, "%v", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, corrupt(key, "not a JSON object: %v", err)
	}
	if members == nil {
		return nil, corrupt(key, "null is not a record")
	}
	c := &Checkpoint{ID: id}
	if err := c.readVersion(members); err != nil {
		return nil, wrapCorrupt(key, err)
	}
	if err := c.readMembers(members); err != nil {
		return nil, wrapCorrupt(key, err)
	}
	return c, nil
}

func (c *Checkpoint) validate() error {
	switch {
	case c == nil:
		return fmt.Errorf("%w: no checkpoint", ErrInvalid)
	case c.ID < 0:
		return fmt.Errorf("%w: checkpoint id %d is negative", ErrInvalid, int64(c.ID))
	case c.Version < LegacySnapshotVersion || c.Version > CurrentSnapshotVersion:
		return &VersionError{ID: c.ID, Version: int64(c.Version)}
	case len(c.Nonce) > maxNonce:
		return fmt.Errorf("%w: nonce of %d bytes is longer than %d", ErrInvalid, len(c.Nonce), maxNonce)
	}
	return nil
}

// readVersion comes before the rest, since a newer release may have changed the meaning of anything else.
func (c *Checkpoint) readVersion(members map[string]json.RawMessage) error {
	var version int64
	if err := take(members, memberVersion, &version); err != nil {
		return err
	}
	if version > CurrentSnapshotVersion {
		return &VersionError{ID: c.ID, Version: version}
	}
	if version < LegacySnapshotVersion {
		return fmt.Errorf("version %d is negative", version)
	}
	c.Version = int(version)
	return nil
}

func (c *Checkpoint) readMembers(members map[string]json.RawMessage) error {
	if members[memberID] == nil || members[memberTimestamp] == nil {
		return fmt.Errorf("%s or %s is missing", memberID, memberTimestamp)
	}
	var id int64
	var state json.RawMessage
	if err := errors.Join(take(members, memberID, &id), take(members, memberTimestamp, &c.Timestamp),
		take(members, memberCompleted, &c.Completed), take(members, memberNonce, &c.Nonce),
		take(members, memberState, &state)); err != nil {
		return err
	}
	if events.CheckpointID(id) != c.ID {
		return fmt.Errorf("the record is of checkpoint %d", id)
	}
	if len(c.Nonce) > maxNonce {
		return fmt.Errorf("nonce of %d bytes is longer than %d", len(c.Nonce), maxNonce)
	}
	if err := c.readState(state); err != nil {
		return err
	}
	delete(members, memberSum)
	if len(members) > 0 {
		c.Extra = members
	}
	return nil
}

func (c *Checkpoint) readState(raw json.RawMessage) error {
	c.State = State{}
	if raw == nil || string(raw) == "null" {
		return nil
	}
	v, err := decodeValue(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", memberState, err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is not an object", memberState)
	}
	c.State = m
	return nil
}

// take moves one member out of the object.
func take(members map[string]json.RawMessage, name string, into any) error {
	raw, ok := members[name]
	if !ok {
		return nil
	}
	delete(members, name)
	if string(raw) == "null" && name != memberState {
		return fmt.Errorf("%s is null", name)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// appendExtra appends the members that this release does not know, sorted by name.
func appendExtra(b []byte, extra map[string]json.RawMessage) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		switch name {
		case memberID, memberTimestamp, memberCompleted, memberVersion, memberNonce, memberState, memberSum:
			return nil, fmt.Errorf("%w: extra member %q has a field of its own", ErrInvalid, name)
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, extra[name]); err != nil {
			return nil, fmt.Errorf("%w: extra member %q: %w", ErrInvalid, name, err)
		}
		var err error
		if b, err = appendString(append(b, ','), name); err != nil {
			return nil, err
		}
		b = append(append(b, ':'), flat.Bytes()...)
	}
	return b, nil
}

// verifyBytes checks the checksum if it is where this package writes it. A record without one, or rewritten by a tool
// that moved it, is read unchecked. Text that is not UTF-8 is refused, since encoding/json would replace it silently.
func verifyBytes(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	if len(data) < sumLen {
		return nil
	}
	body, tail := data[:len(data)-sumLen], data[len(data)-sumLen:]
	if !bytes.HasPrefix(tail, []byte(`,"crc32c":"`)) {
		return nil
	}
	if want := fmt.Appendf(nil, `,"crc32c":"%08x"}`, checksum(body)); !bytes.Equal(want, tail) {
		return fmt.Errorf("checksum does not match, %s should be %s", tail[1:sumLen-1], want[1:sumLen-1])
	}
	return nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func checkSize(id events.CheckpointID, size, limit int) error {
	if limit == 0 {
		limit = DefaultMaxRecord
	}
	if size > limit {
		return fmt.Errorf("checkpoint %v: %w: record of %d bytes or more, at most %d", id, ErrTooLarge, size, limit)
	}
	return nil
}

func corrupt(key, format string, args ...any) error {
	return &CorruptError{Key: key, Reason: fmt.Sprintf(format, args...)}
}

// wrapCorrupt keeps a VersionError as it is.
func wrapCorrupt(key string, err error) error {
	if v, ok := err.(*VersionError); ok { //nolint:errorlint // made by readVersion, never wrapped
		return v
	}
	return corrupt(key, "%v", err)
}
