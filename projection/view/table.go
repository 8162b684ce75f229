package view

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// Row is one checkpoint in the list of checkpoints.
type Row struct {
	ID   events.CheckpointID
	Type events.CheckpointType
	// Status is a phase: pending, finalizing, completed (kept), retired (completed and no longer kept) or failed; or withdrawn
	// (completed, and retired because it could not be restored).
	Status string
	Reason events.FailureReason // of a failed one
	Text   string               // its cause in words, or why it was withdrawn
	Epoch  events.Epoch
	Cause  string // why it was triggered
	// TriggeredAt is the trigger's own timestamp (ms since 1970 UTC), or that of its position if it names none.
	TriggeredAt int64
	// Duration is the time from the trigger to its end by the events' timestamps, never negative; 0 while it is live.
	Duration        time.Duration
	Acked, Required int
	Forced          bool
	// Bytes is the state as stored: what the completing event said, else the sum of the acks that are still known.
	Bytes   int64
	Missing []events.TaskID // up to projection.MaxMissing
}

// Table lists every checkpoint that the state knows, newest id first: live, kept, waiting to be discarded, and the history.
func Table(s *projection.State) []Row {
	seen := map[events.CheckpointID]bool{}
	var rows []Row
	add := func(c projection.Checkpoint, status string) {
		if !seen[c.ID] {
			seen[c.ID] = true
			rows = append(rows, row(c, status))
		}
	}
	for _, list := range [][]projection.Checkpoint{s.Live(), s.Completed(), s.Savepoints(), s.Waste()} {
		for _, c := range list {
			add(c, c.Phase.String())
		}
	}
	for _, c := range s.History() { // kept ones were listed above
		status := c.Phase.String()
		if c.Phase == projection.PhaseCompleted {
			status = projection.PhaseRetired.String()
		}
		add(c, status)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(b.ID, a.ID) })
	return rows
}

// Withdrawn is the status of a checkpoint that completed and could not be restored later.
const Withdrawn = "withdrawn"

func row(c projection.Checkpoint, status string) Row {
	if c.Withdrawn {
		status = Withdrawn
	}
	r := Row{
		ID: c.ID, Type: c.Type, Status: status, Reason: c.Reason, Text: c.Text, Epoch: c.Epoch, Cause: c.Cause,
		TriggeredAt: timeOf(c.Triggered, c.TriggeredAt), Acked: c.Acked, Required: c.Required, Forced: c.Forced, Bytes: c.Bytes,
		Missing: c.StillMissing(),
	}
	r.Missing = r.Missing[:min(len(r.Missing), projection.MaxMissing)]
	if c.Phase.Terminal() {
		r.Duration = max(since(c, timeOf(c.Ended, c.EndedAt)), 0)
	}
	if r.Bytes == 0 {
		for a := range c.Acks() {
			r.Bytes += a.Handle.Bytes()
		}
	}
	return r
}

// Until folds a log up to and including a position: the state that everybody believed then.
func Until(entries iter.Seq2[events.Position, events.Envelope], last events.Position) *projection.State {
	s := projection.New("")
	for pos, e := range entries {
		if pos.After(last) {
			break
		}
		s.Apply(pos, e)
	}
	return s
}
