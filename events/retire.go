package events

import (
	"errors"
	"strconv"
)

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

func (e *CheckpointsRetired) set(name []byte, s *scanner) (known bool) {
	return setCheckpoints(name, s, &e.Epoch, &e.Checkpoints, &e.Why)
}

func (e *CheckpointsRetired) fields(b []byte) []byte {
	return appendCheckpoints(b, e.Epoch, e.Checkpoints, e.Why)
}

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

func (e *StateDiscarded) set(name []byte, s *scanner) (known bool) {
	return setCheckpoints(name, s, &e.Epoch, &e.Checkpoints, &e.Why)
}

func (e *StateDiscarded) fields(b []byte) []byte {
	return appendCheckpoints(b, e.Epoch, e.Checkpoints, e.Why)
}

func (e *StateDiscarded) validate() error { return checkCheckpoints(e.Epoch, e.Checkpoints) }

func setCheckpoints(name []byte, s *scanner, epoch *Epoch, ids *[]CheckpointID, why *string) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, epoch)
	case "checkpoints":
		readList(s, ids, readListed)
	case "why":
		readText(s, why)
	default:
		return false
	}
	return true
}

func readListed(s *scanner, id *CheckpointID) {
	if readCheckpoint(s, id); id.IsZero() {
		s.fail("no checkpoint")
	}
}

func appendCheckpoints(b []byte, epoch Epoch, ids []CheckpointID, why string) []byte {
	b = appendNumber(b, "epoch", epoch)
	if len(ids) > 0 {
		b = append(appendName(b, "checkpoints"), '[')
		for _, id := range ids {
			b = strconv.AppendInt(appendComma(b), int64(id), 10)
		}
		b = append(b, ']')
	}
	return appendText(b, "why", why)
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
