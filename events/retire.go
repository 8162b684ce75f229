package events

import "errors"

// CheckpointsRetired says that completed checkpoints are no longer kept: their records are gone or about to go.
type CheckpointsRetired struct {
	Epoch       Epoch
	Checkpoints []CheckpointID
	Why         string
	Unknown     Unknown
}

// Kind implements [Event].
func (*CheckpointsRetired) Kind() Kind { return KindCheckpointsRetired }

func (e *CheckpointsRetired) unknown() *Unknown { return &e.Unknown }

func (e *CheckpointsRetired) set(name []byte, v value) (known bool, err error) {
	return setCheckpoints(name, v, &e.Epoch, &e.Checkpoints, &e.Why)
}

func (e *CheckpointsRetired) fields(w *writer) { writeCheckpoints(w, e.Epoch, e.Checkpoints, e.Why) }

func (e *CheckpointsRetired) validate() error { return checkCheckpoints(e.Epoch, e.Checkpoints) }

// StateDiscarded says that the record of these failed or retired checkpoints is gone, and that each chunk only they
// referred to has been given an end of life. Until it is logged, the work is repeated.
type StateDiscarded struct {
	Epoch       Epoch
	Checkpoints []CheckpointID
	Why         string
	Unknown     Unknown
}

// Kind implements [Event].
func (*StateDiscarded) Kind() Kind { return KindStateDiscarded }

func (e *StateDiscarded) unknown() *Unknown { return &e.Unknown }

func (e *StateDiscarded) set(name []byte, v value) (known bool, err error) {
	return setCheckpoints(name, v, &e.Epoch, &e.Checkpoints, &e.Why)
}

func (e *StateDiscarded) fields(w *writer) { writeCheckpoints(w, e.Epoch, e.Checkpoints, e.Why) }

func (e *StateDiscarded) validate() error { return checkCheckpoints(e.Epoch, e.Checkpoints) }

func setCheckpoints(name []byte, v value, epoch *Epoch, ids *[]CheckpointID, why *string) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, epoch)
	case "checkpoints":
		return true, readNumbers(v, 0, ids)
	case "why":
		return true, readText(v, why)
	}
	return false, nil
}

func writeCheckpoints(w *writer, epoch Epoch, ids []CheckpointID, why string) {
	w.number("epoch", int64(epoch))
	w.list("checkpoints", len(ids), func(b []byte, i int) []byte { return appendNumber(b, int64(ids[i])) })
	w.text("why", why)
}

func checkCheckpoints(epoch Epoch, ids []CheckpointID) error {
	if len(ids) == 0 {
		return errors.New("field checkpoints is missing")
	}
	for _, id := range ids {
		if err := checkCheckpoint(id); err != nil {
			return err
		}
	}
	return checkEpoch(epoch)
}
