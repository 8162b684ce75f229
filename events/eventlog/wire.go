package eventlog

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
)

// Wire is an event as it stands in an entry: the values of [events.FieldID] and [events.FieldPayload], in this order.
type Wire struct {
	ID      events.EventID
	Payload []byte
}

// ToWire encodes the envelopes; one that has no valid id or cannot be encoded is an error that says which.
func ToWire(envs ...events.Envelope) ([]Wire, error) {
	wires := make([]Wire, len(envs))
	for i, env := range envs {
		if _, err := events.ParseEventID(string(env.ID)); err != nil {
			return nil, fmt.Errorf("event %d of %d, %s: %w", i+1, len(envs), env.Kind(), err)
		}
		payload, err := env.Encode(nil)
		if err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(envs), err)
		}
		wires[i] = Wire{env.ID, payload}
	}
	return wires, nil
}

// NextStep is how many of the wires one atomic step of [Term.Append] takes: up to MaxAppend of them, up to
// MaxAppendBytes together, and at least one.
func NextStep(wires []Wire) int {
	bytes := 0
	for i, w := range wires[:min(len(wires), MaxAppend)] {
		bytes += len(w.Payload)
		if bytes > MaxAppendBytes && i > 0 {
			return i
		}
	}
	return min(len(wires), MaxAppend)
}

// Started is the event that opens the epoch for the candidate.
func (c Candidate) Started(epoch events.Epoch) events.Envelope {
	return events.Envelope{ID: c.Event, At: c.At, Event: &events.CoordinatorStarted{
		Epoch: epoch, Instance: c.Instance, Build: c.Build, Policy: c.Policy,
	}}
}
