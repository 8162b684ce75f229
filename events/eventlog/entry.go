package eventlog

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// Entry is one entry of the log: an event, or what could not be read as one.
type Entry struct {
	// Position is the stream id of the entry.
	Position events.Position
	// Envelope is the event; meaningless when Poison is set. An envelope without a job is about the job of the log; one that
	// names another job is delivered as it is, and the fold refuses it.
	Envelope events.Envelope
	// Poison is nil for an event.
	Poison *Poison
}

// PoisonReason tells why an entry is no event. The set is closed.
type PoisonReason string

// The reasons of poison.
const (
	PoisonNoID           PoisonReason = "no_id"           // the field with the event id is missing
	PoisonBadID          PoisonReason = "bad_id"          // the event id has a form that no event id has
	PoisonNoPayload      PoisonReason = "no_payload"      // the field with the payload is missing
	PoisonTooLarge       PoisonReason = "too_large"       // the payload is larger than events.MaxPayload
	PoisonMalformed      PoisonReason = "malformed"       // the payload is not JSON, or a field is wrong
	PoisonUnknownKind    PoisonReason = "unknown_kind"    // written by a newer version or by a stranger
	PoisonUnknownVersion PoisonReason = "unknown_version" // the same, by its schema version
)

// Poison is an entry that this version cannot read as an event.
type Poison struct {
	Reason PoisonReason
	// Text says what is wrong where, for a person.
	Text string
	// Fields are the entry's fields in order, cut after MaxPoison bytes in all.
	Fields []Field
	// Size is the number of bytes that all names and values had.
	Size int64
}

// Field is one field of a stream entry. Name and Value may hold any bytes.
type Field struct {
	Name, Value []byte
}

// Bounds of a copy of poison.
const (
	MaxPoison       = 4 << 10 // bytes of names and values
	maxPoisonFields = 16
	maxPoisonText   = 512
)

// Batch is some consecutive entries of the log, or an empty answer, or a gap.
type Batch struct {
	// Entries in order; the slice and what it holds belong to the receiver.
	Entries []Entry
	// Sampled is the time just before the read was sent, with its monotonic part.
	Sampled time.Time
	// AtEnd says that everything appended before Sampled has been delivered, with this batch. For Read: the range is exhausted.
	AtEnd bool
	// Gap, if not nil, says that entries are lost. Such a batch has no entries; the next one begins at the first entry of
	// what is there now, so the receiver drops what it has folded and rebuilds.
	Gap *Gap
}

// Gap tells which entries are lost, and how.
type Gap struct {
	// After is the last position delivered, or the one that Follow was given.
	After events.Position
	// Before is the first position in the log now; zero if there is none.
	Before events.Position
	Cause  events.GapCause
}

// NewEntry reads one stream entry from the values of its fields [events.FieldID] and [events.FieldPayload]; nil means that
// the field is missing. An entry that is no event becomes poison, and then fields gives a copy of all of it. NewEntry keeps no reference to
// id and payload.
func NewEntry(at events.Position, id, payload []byte, fields func() ([]Field, int64)) Entry {
	e := Entry{Position: at}
	reason, err := e.decode(id, payload)
	if err == nil {
		return e
	}
	e.Envelope = events.Envelope{}
	copied, size := fields()
	e.Poison = NewPoison(reason, err.Error(), copied, size)
	return e
}

func (e *Entry) decode(id, payload []byte) (PoisonReason, error) {
	if id == nil {
		return PoisonNoID, fmt.Errorf("no field %s", events.FieldID)
	}
	name, err := events.ParseEventID(string(id))
	if err != nil {
		return PoisonBadID, err
	}
	if payload == nil {
		return PoisonNoPayload, fmt.Errorf("no field %s", events.FieldPayload)
	}
	if len(payload) > events.MaxPayload {
		return PoisonTooLarge, fmt.Errorf("payload of %d bytes is more than %d", len(payload), events.MaxPayload)
	}
	e.Envelope, err = events.Decode(name, payload)
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, events.ErrUnknownKind):
		return PoisonUnknownKind, err
	case errors.Is(err, events.ErrUnknownVersion):
		return PoisonUnknownVersion, err
	default:
		return PoisonMalformed, err
	}
}

// NewPoison makes a bounded copy of an entry that is no event. Size is what the whole entry had.
func NewPoison(reason PoisonReason, text string, fields []Field, size int64) *Poison {
	p := &Poison{Reason: reason, Text: text[:min(len(text), maxPoisonText)], Size: size}
	room := MaxPoison
	for _, f := range fields[:min(len(fields), maxPoisonFields)] {
		if room == 0 {
			break
		}
		name := clip(f.Name, &room)
		p.Fields = append(p.Fields, Field{Name: name, Value: clip(f.Value, &room)})
	}
	return p
}

// clip copies as much of b as there is room for.
func clip(b []byte, room *int) []byte {
	n := min(len(b), *room)
	*room -= n
	return append([]byte{}, b[:n]...)
}
