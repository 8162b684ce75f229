package events

import (
	"errors"
	"fmt"
)

// SchemaVersion is the version of the payload that this package writes, and the newest it reads.
const SchemaVersion = 1

// MaxPayload is the largest payload in bytes that [Envelope.Encode] writes and [Decode] reads: 8 MiB. It holds a trigger
// for more than 100 000 tasks; state belongs into chunks, not into the log. A batch of a reader is bounded by it.
const MaxPayload = 8 << 20

// Errors of [Decode] and [Envelope.Encode]; each is wrapped with what was found where.
var (
	// ErrMalformed: the payload is not JSON, is too large, or a field has a wrong type, an impossible value or is missing.
	ErrMalformed = errors.New("malformed event")
	// ErrUnknownKind: a kind that this version does not know. Written by a newer version or by a stranger.
	ErrUnknownKind = errors.New("unknown event kind")
	// ErrUnknownVersion: a schema version above [SchemaVersion], or none.
	ErrUnknownVersion = errors.New("unknown event schema version")
)

// Envelope is one event with what every event has. docs/wire-format.md describes its bytes.
type Envelope struct {
	// ID is unique per event; it travels beside the payload as the watermill message UUID.
	ID EventID
	// Job is the job that the event is about. Absent means the job of the log that it was found in.
	Job JobID
	// At is the writer's wall clock when it made the event, in milliseconds since 1970 UTC. Shown, never decided on.
	At int64
	// Event is the fact itself; never nil after a successful Decode.
	Event Event
	// Unknown holds the envelope's members that this version does not know.
	Unknown Unknown
}

// Kind is the kind of the event, or "" for an empty envelope.
func (e Envelope) Kind() Kind {
	if e.Event == nil {
		return ""
	}
	return e.Event.Kind()
}

// Encode appends the payload to b and returns it. The same envelope always gives the same bytes. An event that
// misses a mandatory field, or is larger than [MaxPayload], is an error that wraps [ErrMalformed], and b is returned as it was.
func (e Envelope) Encode(b []byte) ([]byte, error) {
	if e.Event == nil {
		return b, fmt.Errorf("encode event %s: %w: no event in the envelope", e.ID, ErrMalformed)
	}
	if err := e.Event.validate(); err != nil {
		return b, fmt.Errorf("encode %s %s: %w: %w", e.Event.Kind(), e.ID, ErrMalformed, err)
	}
	start := len(b)
	w := openObject(b)
	w.number("v", SchemaVersion)
	w.text("kind", string(e.Event.Kind()))
	w.text("job", string(e.Job))
	w.number("at", e.At)
	w.name("data")
	data := openObject(w.b)
	e.Event.fields(&data)
	w.b = data.close(*e.Event.unknown())
	out := w.close(e.Unknown)
	if len(out)-start > MaxPayload {
		return b[:start], fmt.Errorf("encode %s %s: %w: %d bytes are more than %d; put state into chunks",
			e.Event.Kind(), e.ID, ErrMalformed, len(out)-start, MaxPayload)
	}
	return out, nil
}

// Decode reads a payload that came with the event id. It keeps no reference to payload. It never panics, whatever the
// bytes; the error wraps [ErrMalformed], [ErrUnknownKind] or [ErrUnknownVersion] and says what is wrong where.
func Decode(id EventID, payload []byte) (Envelope, error) {
	e := Envelope{ID: id}
	if len(payload) > MaxPayload {
		return e, fmt.Errorf("%w: %d bytes are more than %d", ErrMalformed, len(payload), MaxPayload)
	}
	head := header{envelope: &e}
	if err := members(payload, head.set); err != nil {
		return e, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if head.version < 1 || head.version > SchemaVersion {
		return e, fmt.Errorf("%w: %d; this build reads 1 to %d", ErrUnknownVersion, head.version, SchemaVersion)
	}
	event := newEvent(head.kind)
	if event == nil {
		return e, fmt.Errorf("%w: %q", ErrUnknownKind, string(head.kind))
	}
	if err := decodeData(event, head.data); err != nil {
		return e, fmt.Errorf("%w: %s: %w", ErrMalformed, head.kind, err)
	}
	e.Event = event
	return e, nil
}

// header gathers the members of the envelope.
type header struct {
	envelope *Envelope
	version  int64
	kind     Kind
	data     value
}

func (h *header) set(name []byte, v value) (err error) {
	switch string(name) {
	case "v":
		err = readNumber(v, 0, &h.version)
	case "kind":
		err = readText(v, &h.kind)
	case "job":
		err = readName(v, "job", &h.envelope.Job)
	case "at":
		err = readNumber(v, 0, &h.envelope.At)
	case "data":
		h.data = v
	default:
		h.envelope.Unknown.keep(name, v)
	}
	if err != nil {
		return fmt.Errorf("field %s: %w", name, err)
	}
	return nil
}

func decodeData(event Event, data value) error {
	if len(data) == 0 {
		return errors.New("no data")
	}
	err := decodeObject(data, event.set, event.unknown())
	if err != nil {
		return err
	}
	return event.validate()
}

// decodeObject hands each member of the object to set, and keeps in u what set does not know.
func decodeObject(data value, set func(name []byte, v value) (bool, error), u *Unknown) error {
	return members(data, func(name []byte, v value) error {
		known, err := set(name, v)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		if !known {
			u.keep(name, v)
		}
		return nil
	})
}
