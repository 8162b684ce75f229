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
	err := firstOf(
		checkOptional("job", string(e.Job)),
		checkLeast("at", e.At, 0),
		e.Event.validate(),
		e.Unknown.check(levelEnvelope),
		e.Event.unknown().check(levelData),
	)
	if err != nil {
		return b, fmt.Errorf("encode %s %s: %w: %w", e.Event.Kind(), e.ID, ErrMalformed, err)
	}
	out := append(b, '{')
	out = appendNumber(out, "v", int64(SchemaVersion))
	out = appendText(out, "kind", e.Event.Kind())
	out = appendText(out, "job", e.Job)
	out = appendNumber(out, "at", e.At)
	out = append(appendName(out, "data"), '{')
	out = appendEnd(e.Event.fields(out), *e.Event.unknown())
	out = appendEnd(out, e.Unknown)
	if len(out)-len(b) > MaxPayload {
		return b, fmt.Errorf("encode %s %s: %w: %d bytes are more than %d; put state into chunks",
			e.Event.Kind(), e.ID, ErrMalformed, len(out)-len(b), MaxPayload)
	}
	return out, nil
}

// Decode reads a payload that came with the event id. It keeps no reference to payload. It never panics, whatever the
// bytes; the error wraps [ErrMalformed], [ErrUnknownKind] or [ErrUnknownVersion] and says what is wrong where.
func Decode(id EventID, payload []byte) (Envelope, error) {
	if len(payload) > MaxPayload {
		return Envelope{ID: id}, fmt.Errorf("%w: %d bytes are more than %d", ErrMalformed, len(payload), MaxPayload)
	}
	d := decoder{envelope: Envelope{ID: id}, scanner: scanner{b: payload}}
	d.read(&d)
	if d.end(); d.err != nil {
		return d.failed(fmt.Errorf("%w: %w", ErrMalformed, d.err))
	}
	if !d.readable() {
		return d.failed(fmt.Errorf("%w: %d; this build reads 1 to %d", ErrUnknownVersion, d.version, SchemaVersion))
	}
	if d.event == nil {
		return d.failed(fmt.Errorf("%w: %q", ErrUnknownKind, string(d.kind)))
	}
	if err := d.finish(); err != nil {
		return d.failed(fmt.Errorf("%w: %s: %w", ErrMalformed, d.kind, err))
	}
	d.envelope.Event = d.event
	return d.envelope, nil
}

// decoder gathers the members of the envelope. It is one with its scanner, so that both are one allocation.
type decoder struct {
	scanner
	envelope Envelope
	version  int64
	kind     Kind
	event    Event  // of the kind, nil if unknown
	data     []byte // as written, nil until found
	dataRead bool   // into event, in the same pass
}

func (d *decoder) failed(err error) (Envelope, error) { return d.envelope, err }

func (d *decoder) readable() bool { return 1 <= d.version && d.version <= SchemaVersion }

func (d *decoder) unknown() *Unknown { return &d.envelope.Unknown }

func (d *decoder) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "v":
		d.once(d.version == 0)
		readNumber(s, &d.version)
	case "kind":
		d.once(d.kind == "")
		d.setKind(readBytes(s))
	case "job":
		readText(s, &d.envelope.Job)
	case "at":
		readNumber(s, &d.envelope.At)
	case "data":
		d.once(d.data == nil)
		d.readData()
	default:
		return false
	}
	return true
}

// once fails for a member whose second value would change the meaning of what was read since the first.
func (d *decoder) once(first bool) {
	if !first {
		d.fail("stands twice")
	}
}

func (d *decoder) setKind(kind []byte) {
	if d.event = newEvent(kind); d.event != nil {
		d.kind = d.event.Kind()
		return
	}
	d.kind = Kind(kind)
}

// readData decodes the data when version and kind are known before it, as in what Encode writes. Else it only remembers it.
func (d *decoder) readData() {
	d.peek()
	from := d.i
	if d.dataRead = d.event != nil && d.readable(); d.dataRead {
		readObject(&d.scanner, d.event)
	} else {
		d.skip()
	}
	d.data = d.b[from:d.i]
}

// finish reads the data unless it has been read, and checks all values.
func (d *decoder) finish() error {
	if d.data == nil {
		return errors.New("no data")
	}
	if !d.dataRead {
		s := scanner{b: d.data, depth: levelEnvelope}
		if readObject(&s, d.event); s.err != nil {
			return fmt.Errorf("field data: %w", s.err)
		}
	}
	return firstOf(checkOptional("job", string(d.envelope.Job)), checkLeast("at", d.envelope.At, 0), d.event.validate())
}
