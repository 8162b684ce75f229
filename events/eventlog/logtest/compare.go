package logtest

import (
	"iter"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// pullBatches is iter.Pull2 with its types spelled out.
func pullBatches(seq iter.Seq2[eventlog.Batch, error]) (next func() (eventlog.Batch, error, bool), stop func()) {
	return iter.Pull2(seq)
}

// same fails the test unless the entries are these events, in rising positions.
func (r *rig) same(got []eventlog.Entry, want []events.Envelope) {
	r.Helper()
	envs := make([]events.Envelope, 0, len(got))
	last := events.Start
	for _, e := range got {
		if !e.Position.After(last) {
			r.Errorf("position %s follows %s", e.Position, last)
		}
		last = e.Position
		if e.Poison != nil {
			r.Errorf("entry %s is poison: %+v", e.Position, *e.Poison)
		}
		envs = append(envs, e.Envelope)
	}
	if diff := cmp.Diff(want, envs, cmpopts.EquateEmpty()); diff != "" {
		r.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// equal fails the test unless both are equal; an empty slice equals nil.
func (r *rig) equal(what string, got, want any) {
	r.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}
