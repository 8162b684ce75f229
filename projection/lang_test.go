package projection_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// The language of the golden logs. One line is one event: verb, positional words, then name=value words. What is left
// out is what a well-behaved writer would say: the epoch in force, the current attempt, the restore point.
//
//	start c1 epoch=1 tasks=a,b | count=3 [interval= pause= timeout= max= retain= queue=]
//	register a i1        restored a [attempt=]      finished a checkpoint=0 [attempt=]      lost a [attempt=]      left a [attempt=]
//	trigger 0 [type=savepoint request=r1 tasks=a:1,b:1 count= timeout=10s joining=ev]
//	ack 0 a [attempt= epoch= chunks=x,y joining=ev]         decline 0 a [reason=other text=full]
//	unrestored a [reason=chunk_missing checkpoint=0 attempt=]   withdrawal r1 checkpoint=0 [forced=1 to-nothing=1]
//	withdraw 0 1 [request=r1 to-nothing=1]
//	complete 0 [forced]  fail 0 expired [text=]   request r1 [type=savepoint joining= cause=]   abort r2 upto=3 [cause=]
//	refuse r1 queue_full     retire 0 1     discard 0 1     trimmed before=5-0     gap cause=trimmed after=3-0 before=9-0

// line is one parsed line of the language.
type line struct {
	verb  string
	words []string
	named map[string]string
	text  string
}

func parseLine(text string) line {
	fields := strings.Fields(text)
	l := line{verb: fields[0], named: map[string]string{}, text: text}
	for _, f := range fields[1:] {
		if name, value, ok := strings.Cut(f, "="); ok {
			l.named[name] = value
		} else {
			l.words = append(l.words, f)
		}
	}
	return l
}

func (l line) word(i int) string {
	if i < len(l.words) {
		return l.words[i]
	}
	return ""
}

func (l line) has(word string) bool { return slices.Contains(l.words, word) }

func (l line) number(name string, fallback int64) int64 {
	v, ok := l.named[name]
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", l.text, err))
	}
	return n
}

func (l line) ms(name string) int64 {
	v, ok := l.named[name]
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", l.text, err))
	}
	return d.Milliseconds()
}

func (l line) id(i int) events.CheckpointID {
	n, err := strconv.ParseInt(l.word(i), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", l.text, err))
	}
	return events.CheckpointID(n)
}

func (l line) ids() (ids []events.CheckpointID) {
	for i := range l.words {
		ids = append(ids, l.id(i))
	}
	return ids
}

func (l line) position(name string) events.Position {
	p, err := events.ParsePosition(l.named[name])
	if err != nil {
		panic(fmt.Sprintf("%s: %v", l.text, err))
	}
	return p
}

func (l line) kind() events.CheckpointType {
	if l.named["type"] == "savepoint" {
		return events.TypeSavepoint
	}
	return events.TypeCheckpoint
}

// text with underscores for spaces.
func (l line) prose(name string) string { return strings.ReplaceAll(l.named[name], "_", " ") }

// event makes the event of a line as somebody who knows the state would write it.
func (l line) event(s *projection.State) events.Event {
	epoch := events.Epoch(l.number("epoch", max(int64(s.Epoch()), 1)))
	switch l.verb {
	case "start":
		return l.start(s)
	case "register", "restored", "unrestored", "finished", "left", "lost":
		return l.task(s, epoch)
	case "trigger":
		return l.trigger(s, epoch)
	case "ack", "decline":
		return l.answer(s, epoch)
	case "complete":
		return &events.CheckpointCompleted{Epoch: epoch, Checkpoint: l.id(0), Forced: l.has("forced")}
	case "fail":
		return &events.CheckpointFailed{
			Epoch: epoch, Checkpoint: l.id(0), Reason: events.FailureReason(l.word(1)), Text: l.prose("text"),
		}
	case "request":
		return &events.CheckpointRequested{
			Request: events.RequestID(l.word(0)), Type: l.kind(), JoiningEvent: l.named["joining"], Cause: l.prose("cause"),
		}
	case "abort":
		return &events.AbortRequested{
			Request: events.RequestID(l.word(0)), UpTo: events.CheckpointID(l.number("upto", 0)), Cause: l.prose("cause"),
		}
	case "withdrawal":
		return &events.WithdrawalRequested{
			Request: events.RequestID(l.word(0)), Checkpoint: events.CheckpointID(l.number("checkpoint", 0)),
			Forced: l.number("forced", 0) == 1, ToNothing: l.number("to-nothing", 0) == 1, Cause: l.prose("cause"),
		}
	case "withdraw":
		return &events.CheckpointsWithdrawn{
			Epoch: epoch, Checkpoints: l.ids(), Request: events.RequestID(l.named["request"]), Why: l.prose("why"),
			ToNothing: l.number("to-nothing", 0) == 1,
		}
	case "refuse":
		return &events.RequestRefused{
			Epoch: epoch, Request: events.RequestID(l.word(0)), Reason: events.RefusalReason(l.word(1)), Remedy: l.prose("remedy"),
		}
	case "retire":
		return &events.CheckpointsRetired{Epoch: epoch, Checkpoints: l.ids()}
	case "discard":
		return &events.StateDiscarded{Epoch: epoch, Checkpoints: l.ids()}
	case "trimmed":
		return &events.LogTrimmed{Epoch: epoch, Before: l.position("before")}
	case "gap":
		return &events.LogGapFound{
			Epoch: epoch, After: l.position("after"), Before: l.position("before"), Cause: events.GapCause(l.named["cause"]),
		}
	}
	panic("no such verb: " + l.text)
}

func (l line) start(s *projection.State) events.Event {
	p := events.Policy{
		Count: l.number("count", 0), Interval: l.ms("interval"), MinPause: l.ms("pause"), Timeout: l.ms("timeout"),
		MaxConcurrent: l.number("max", 1), Retain: l.number("retain", 5), QueueLimit: l.number("queue", 10),
	}
	for name := range strings.SplitSeq(l.named["tasks"], ",") {
		if name != "" {
			p.Tasks = append(p.Tasks, events.TaskID(name))
		}
	}
	return &events.CoordinatorStarted{
		Epoch: events.Epoch(l.number("epoch", int64(s.Epoch())+1)), Instance: events.InstanceID(l.word(0)), Policy: p,
	}
}

func (l line) attempt(s *projection.State, task events.TaskID) events.Attempt {
	t, _ := s.Task(task)
	return events.Attempt(l.number("attempt", int64(t.Attempt)))
}

func (l line) task(s *projection.State, epoch events.Epoch) events.Event {
	task := events.TaskID(l.word(0))
	attempt := l.attempt(s, task)
	switch l.verb {
	case "register":
		return &events.TaskRegistered{Task: task, Instance: events.InstanceID(l.word(1))}
	case "left":
		return &events.TaskLeft{Task: task, Attempt: attempt}
	case "lost":
		return &events.TaskLost{Epoch: epoch, Task: task, Attempt: attempt}
	case "finished":
		return &events.TaskFinished{Task: task, Attempt: attempt, Checkpoint: events.CheckpointID(l.number("checkpoint", 0))}
	}
	t, ok := s.Task(task)
	if !ok {
		t.Restore = events.NoCheckpoint
	}
	point := events.CheckpointID(l.number("checkpoint", int64(t.Restore)))
	if l.verb == "unrestored" {
		reason := cmp.Or(events.RestoreFailure(l.named["reason"]), events.RestoreChunkMissing)
		return &events.TaskRestoreFailed{Task: task, Attempt: attempt, Checkpoint: point, Reason: reason, Text: l.prose("text")}
	}
	return &events.TaskRestored{Task: task, Attempt: attempt, Checkpoint: point}
}

func (l line) trigger(s *projection.State, epoch events.Epoch) events.Event {
	e := &events.CheckpointTriggered{
		Epoch: epoch, Checkpoint: l.id(0), Type: l.kind(), Request: events.RequestID(l.named["request"]),
		Count: l.number("count", s.Policy().Count), Timeout: l.ms("timeout"), JoiningEvent: l.named["joining"],
	}
	if list, ok := l.named["tasks"]; ok {
		e.Count = 0
		for one := range strings.SplitSeq(list, ",") {
			name, n, _ := strings.Cut(one, ":")
			attempt, err := events.ParseAttempt(n)
			if err != nil {
				panic(fmt.Sprintf("%s: %v", l.text, err))
			}
			e.Tasks = append(e.Tasks, events.TaskAttempt{Task: events.TaskID(name), Attempt: attempt})
		}
		return e
	}
	tasks := s.Policy().Tasks
	slices.Sort(tasks)
	for _, id := range tasks {
		if t, ok := s.Task(id); ok && t.Phase != projection.TaskIsFinished {
			e.Tasks = append(e.Tasks, events.TaskAttempt{Task: id, Attempt: t.Attempt})
		}
	}
	return e
}

func (l line) answer(s *projection.State, epoch events.Epoch) events.Event {
	task := events.TaskID(l.word(1))
	attempt := l.attempt(s, task)
	if l.verb == "decline" {
		reason := events.DeclinedOther
		if r, ok := l.named["reason"]; ok {
			reason = events.DeclineReason(r)
		}
		return &events.TaskDeclined{
			Checkpoint: l.id(0), Task: task, Attempt: attempt, Epoch: epoch, Reason: reason, Text: l.prose("text"),
		}
	}
	e := &events.TaskAcked{
		Checkpoint: l.id(0), Task: task, Attempt: attempt, Epoch: epoch, JoiningEvent: l.named["joining"],
		Measures: events.Measures{Sync: l.number("sync", 0)},
	}
	for chunk := range strings.SplitSeq(l.named["chunks"], ",") {
		if chunk != "" {
			e.Handle.Chunks = append(e.Handle.Chunks, events.ChunkRef{Name: chunk, Digest: digest(chunk), Bytes: 10})
		}
	}
	return e
}

// digest is a valid digest that shows a short name.
func digest(name string) events.Digest {
	return events.Digest(fmt.Sprintf("%x", name) + strings.Repeat("0", 64-2*len(name)))
}

// undigest gives the short name back.
func undigest(d events.Digest) string {
	var b strings.Builder
	for i := 0; i+1 < len(d); i += 2 {
		n, err := strconv.ParseUint(string(d[i:i+2]), 16, 8)
		if err != nil || n == 0 {
			break
		}
		b.WriteByte(byte(n))
	}
	return b.String()
}
