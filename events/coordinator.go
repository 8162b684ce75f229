package events

import "errors"

// CoordinatorStarted opens an epoch: from here on the instance is the job's only coordinator. It ends every pending
// checkpoint of an older epoch as [FailedCoordinatorChanged], in the fold, without a further event. Written by the script
// that takes the lease.
type CoordinatorStarted struct {
	Epoch    Epoch
	Instance InstanceID
	// Build is the version of the program, for the reader.
	Build   string
	Policy  Policy
	Unknown Unknown
}

// Kind implements [Event].
func (*CoordinatorStarted) Kind() Kind { return KindCoordinatorStarted }

func (e *CoordinatorStarted) unknown() *Unknown { return &e.Unknown }

func (e *CoordinatorStarted) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "instance":
		readText(s, &e.Instance)
	case "build":
		readText(s, &e.Build)
	case "policy":
		e.Policy = Policy{}
		readObject(s, &e.Policy)
	default:
		return false
	}
	return true
}

func (e *CoordinatorStarted) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendText(b, "instance", e.Instance)
	b = appendText(b, "build", e.Build)
	return e.Policy.encode(appendName(b, "policy"))
}

func (e *CoordinatorStarted) validate() error {
	return firstOf(
		checkEpoch(e.Epoch),
		checkName("instance", string(e.Instance)),
		e.Policy.validate(),
	)
}

// LogTrimmed says that a range of the log was removed on purpose: it is covered by the saved fold.
type LogTrimmed struct {
	Epoch Epoch
	// Before is the first position that was kept.
	Before Position
	// Archive says where the removed entries went; empty means nowhere.
	Archive string
	Unknown Unknown
}

// Kind implements [Event].
func (*LogTrimmed) Kind() Kind { return KindLogTrimmed }

func (e *LogTrimmed) unknown() *Unknown { return &e.Unknown }

func (e *LogTrimmed) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "before":
		readPosition(s, &e.Before)
	case "archive":
		readText(s, &e.Archive)
	default:
		return false
	}
	return true
}

func (e *LogTrimmed) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendPosition(b, "before", e.Before)
	return appendText(b, "archive", e.Archive)
}

func (e *LogTrimmed) validate() error {
	if e.Before.IsZero() {
		return errors.New("field before is missing")
	}
	return checkEpoch(e.Epoch)
}

// GapCause tells how entries of the log got lost. The set is closed.
type GapCause string

// The causes of a gap.
const (
	GapTrimmed  GapCause = "trimmed"  // by XTRIM or MAXLEN, beyond what a stored fold covers
	GapDeleted  GapCause = "deleted"  // the stream was deleted, flushed or evicted and began anew
	GapFailover GapCause = "failover" // the last id went back: a replica took over that had not seen the end
)

func gapCauses() []GapCause { return []GapCause{GapTrimmed, GapDeleted, GapFailover} }

// LogGapFound says that the coordinator missed entries that its fold had seen or needed, and rebuilt.
type LogGapFound struct {
	Epoch Epoch
	// After is the last position that is known to have been folded before the gap; zero if none.
	After Position
	// Before is the first position found behind the gap; zero if the log was empty.
	Before  Position
	Cause   GapCause
	Unknown Unknown
}

// Kind implements [Event].
func (*LogGapFound) Kind() Kind { return KindLogGapFound }

func (e *LogGapFound) unknown() *Unknown { return &e.Unknown }

func (e *LogGapFound) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "after":
		readPosition(s, &e.After)
	case "before":
		readPosition(s, &e.Before)
	case "cause":
		readWord(s, gapCauses(), &e.Cause)
	default:
		return false
	}
	return true
}

func (e *LogGapFound) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendPosition(b, "after", e.After)
	b = appendPosition(b, "before", e.Before)
	return appendText(b, "cause", e.Cause)
}

func (e *LogGapFound) validate() error {
	return firstOf(checkEpoch(e.Epoch), checkWord("cause", e.Cause, gapCauses()))
}

func checkEpoch(e Epoch) error {
	if e < 1 {
		return errors.New("field epoch is missing")
	}
	return nil
}

func checkCheckpoint(id CheckpointID) error {
	if id < 0 {
		return errors.New("field checkpoint is missing")
	}
	return nil
}
