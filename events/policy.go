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
	// MinPause between the end of a checkpoint and the next periodic trigger; 0 means none.
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

func (p *Policy) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "tasks":
		return true, readNames(v, "task", &p.Tasks)
	case "count":
		return true, readNumber(v, 0, &p.Count)
	case "interval_ms":
		return true, readNumber(v, 0, &p.Interval)
	case "min_pause_ms":
		return true, readNumber(v, 0, &p.MinPause)
	case "timeout_ms":
		return true, readNumber(v, minInt64, &p.Timeout)
	case "max_concurrent":
		return true, readNumber(v, 1, &p.MaxConcurrent)
	case "retain":
		return true, readNumber(v, 1, &p.Retain)
	case "queue_limit":
		return true, readNumber(v, 1, &p.QueueLimit)
	}
	return false, nil
}

func (p *Policy) encode(b []byte) []byte {
	w := openObject(b)
	w.list("tasks", len(p.Tasks), func(b []byte, i int) []byte { return appendJSONString(b, string(p.Tasks[i])) })
	w.count("count", p.Count)
	w.number("interval_ms", p.Interval)
	w.number("min_pause_ms", p.MinPause)
	w.number("timeout_ms", p.Timeout)
	w.number("max_concurrent", p.MaxConcurrent)
	w.number("retain", p.Retain)
	w.number("queue_limit", p.QueueLimit)
	return w.close(p.Unknown)
}

func (p *Policy) validate() error {
	if (len(p.Tasks) > 0) == (p.Count > 0) {
		return errors.New("policy: exactly one of tasks and count is needed")
	}
	seen := make(map[TaskID]bool, len(p.Tasks))
	for _, t := range p.Tasks {
		if err := checkName("task", string(t), maxNameLen); err != nil {
			return fmt.Errorf("policy: %w", err)
		}
		if seen[t] {
			return fmt.Errorf("policy: task %s stands twice", t)
		}
		seen[t] = true
	}
	if p.MaxConcurrent < 1 || p.Retain < 1 || p.QueueLimit < 1 {
		return errors.New("policy: max_concurrent, retain and queue_limit must be at least 1")
	}
	return nil
}
