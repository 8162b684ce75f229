package events

import (
	"errors"
	"fmt"
)

const minInt64 = -1 << 63

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

func (e *CoordinatorStarted) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "instance":
		return true, readName(v, "instance", &e.Instance)
	case "build":
		return true, readText(v, &e.Build)
	case "policy":
		return true, decodeObject(v, e.Policy.set, &e.Policy.Unknown)
	}
	return false, nil
}

func (e *CoordinatorStarted) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	w.text("instance", string(e.Instance))
	w.text("build", e.Build)
	w.name("policy")
	w.b = e.Policy.encode(w.b)
}

func (e *CoordinatorStarted) validate() error {
	if err := checkEpoch(e.Epoch); err != nil {
		return err
	}
	if err := checkName("instance", string(e.Instance), maxNameLen); err != nil {
		return err
	}
	return e.Policy.validate()
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

func (e *LogTrimmed) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "before":
		return true, readPosition(v, &e.Before)
	case "archive":
		return true, readText(v, &e.Archive)
	}
	return false, nil
}

func (e *LogTrimmed) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	w.text("before", e.Before.String())
	w.text("archive", e.Archive)
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

func (e *LogGapFound) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "after":
		return true, readPosition(v, &e.After)
	case "before":
		return true, readPosition(v, &e.Before)
	case "cause":
		return true, readReason(v, gapCauses(), &e.Cause)
	}
	return false, nil
}

func (e *LogGapFound) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	if !e.After.IsZero() {
		w.text("after", e.After.String())
	}
	if !e.Before.IsZero() {
		w.text("before", e.Before.String())
	}
	w.text("cause", string(e.Cause))
}

func (e *LogGapFound) validate() error {
	if err := checkReason(e.Cause, gapCauses()); err != nil {
		return fmt.Errorf("field cause: %w", err)
	}
	return checkEpoch(e.Epoch)
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

func readPosition(v value, dst *Position) error {
	var s string
	if err := readText(v, &s); err != nil || v.isNull() {
		return err
	}
	var err error
	*dst, err = ParsePosition(s)
	return err
}
