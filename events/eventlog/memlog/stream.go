package memlog

import (
	"sort"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// stored is one entry as bytes.
type stored struct {
	at     events.Position
	fields []eventlog.Field
}

// stream is what a Redis stream is: entries in order of position.
type stream struct {
	entries []stored
	last    events.Position // Invariant: at or above every position ever given, unless rewound
	removed int64
}

func (s *stream) add(fields []eventlog.Field) events.Position {
	at := events.Position{Ms: uint64(max(time.Now().UnixMilli(), 0))}
	if !at.After(s.last) {
		at = s.last.Next()
	}
	s.last = at
	s.entries = append(s.entries, stored{at, fields})
	return at
}

// index is the place of the first entry at or behind the position.
func (s *stream) index(at events.Position) int {
	return sort.Search(len(s.entries), func(i int) bool { return !s.entries[i].at.Before(at) })
}

func (s *stream) has(at events.Position) bool {
	i := s.index(at)
	return i < len(s.entries) && s.entries[i].at == at
}

// page gives up to n entries from from to to, both included.
func (s *stream) page(from, to events.Position, n int) []stored {
	lo := s.index(from)
	hi := lo
	for hi < len(s.entries) && hi-lo < n && !s.entries[hi].at.After(to) {
		hi++
	}
	return s.entries[lo:hi:hi]
}

func (s *stream) trim(before events.Position) int64 {
	n := s.index(before)
	s.entries = append([]stored(nil), s.entries[n:]...)
	s.removed += int64(n)
	return int64(n)
}

func (s *stream) state() eventlog.StreamState {
	if s == nil {
		return eventlog.StreamState{}
	}
	state := eventlog.StreamState{Exists: true, Last: s.last, Removed: s.removed}
	if len(s.entries) > 0 {
		state.First = s.entries[0].at
	}
	return state
}

// decode reads an entry as a reader of the log does.
func (e stored) decode() eventlog.Entry {
	var id, payload []byte
	size := int64(0)
	for _, f := range e.fields {
		size += int64(len(f.Name) + len(f.Value))
		switch string(f.Name) {
		case events.FieldID:
			id = present(f.Value)
		case events.FieldPayload:
			payload = present(f.Value)
		}
	}
	return eventlog.NewEntry(e.at, id, payload, func() ([]eventlog.Field, int64) { return e.fields, size })
}

// present tells an empty value from a missing one.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func fieldsOf(w eventlog.Wire) []eventlog.Field {
	return []eventlog.Field{
		{Name: []byte(events.FieldID), Value: []byte(w.ID)},
		{Name: []byte(events.FieldPayload), Value: w.Payload},
	}
}
