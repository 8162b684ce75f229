package events

import (
	"errors"
	"fmt"
)

// Policy is the policy in force in one epoch, as the coordinator announced it when it started. Times are in milliseconds.
// The fold needs it to tell which acks complete a checkpoint; everything else is for the reader of the log.
type Policy struct {
	// Tasks is the expected task set. A checkpoint needs an ack of each.
	Tasks []TaskID
	// Count is the number of distinct acks that complete a checkpoint, for embedders that have no fixed set.
	// Exactly one of Tasks and Count is set.
	Count int64
	// Interval between periodic triggers; 0 means none.
	Interval int64
	// MinPause between the completion of a checkpoint or savepoint and the next periodic trigger; failures do not count.
	// 0 means none.
	MinPause int64
	// Timeout of a pending checkpoint; 0 or less means never.
	Timeout int64
	// MaxConcurrent is how many checkpoints may be pending at once; at least 1.
	MaxConcurrent int64
	// Retain is how many completed checkpoints are kept; at least 1.
	Retain int64
	// QueueLimit bounds the requests that wait for a trigger; at least 1.
	QueueLimit int64
	// Unknown holds the members that this version does not know.
	Unknown Unknown
}

func (p *Policy) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "tasks":
		readList(s, &p.Tasks, readTaskName)
	case "count":
		readNumber(s, &p.Count)
	case "interval_ms":
		readNumber(s, &p.Interval)
	case "min_pause_ms":
		readNumber(s, &p.MinPause)
	case "timeout_ms":
		readNumber(s, &p.Timeout)
	case "max_concurrent":
		readNumber(s, &p.MaxConcurrent)
	case "retain":
		readNumber(s, &p.Retain)
	case "queue_limit":
		readNumber(s, &p.QueueLimit)
	default:
		return false
	}
	return true
}

func (p *Policy) encode(b []byte) []byte {
	b = append(b, '{')
	b = appendTexts(b, "tasks", p.Tasks)
	b = appendCount(b, "count", p.Count)
	b = appendNumber(b, "interval_ms", p.Interval)
	b = appendNumber(b, "min_pause_ms", p.MinPause)
	b = appendNumber(b, "timeout_ms", p.Timeout)
	b = appendNumber(b, "max_concurrent", p.MaxConcurrent)
	b = appendNumber(b, "retain", p.Retain)
	b = appendNumber(b, "queue_limit", p.QueueLimit)
	return appendEnd(b, p.Unknown)
}

func (p *Policy) validate() error {
	if (len(p.Tasks) > 0) == (p.Count > 0) {
		return errors.New("policy: exactly one of tasks and count is needed")
	}
	seen := make(map[TaskID]bool, len(p.Tasks))
	for _, t := range p.Tasks {
		if err := checkName("task", string(t)); err != nil {
			return fmt.Errorf("policy: %w", err)
		}
		if seen[t] {
			return fmt.Errorf("policy: task %s stands twice", t)
		}
		seen[t] = true
	}
	err := firstOf(
		checkLeast("count", p.Count, 0),
		checkLeast("interval_ms", p.Interval, 0),
		checkLeast("min_pause_ms", p.MinPause, 0),
		checkLeast("max_concurrent", p.MaxConcurrent, 1),
		checkLeast("retain", p.Retain, 1),
		checkLeast("queue_limit", p.QueueLimit, 1),
		p.Unknown.check(levelField),
	)
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}

func (p *Policy) unknown() *Unknown { return &p.Unknown }
