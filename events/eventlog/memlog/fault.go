package memlog

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Op names a call, for [Config].Fault.
type Op string

// The calls that can be made to fail. A multi-step call asks before each step.
const (
	OpPublish       Op = "publish"
	OpRead          Op = "read"
	OpFollow        Op = "follow" // each read of Follow; an error is retried after a wait
	OpLast          Op = "last"
	OpCampaign      Op = "campaign"
	OpAppend        Op = "append"
	OpRenew         Op = "renew"
	OpResign        Op = "resign"
	OpWriteControl  Op = "write control"
	OpWriteTasks    Op = "write tasks"
	OpKeepTasks     Op = "keep tasks"
	OpSaveFold      Op = "save fold"
	OpQuarantine    Op = "quarantine"
	OpTrim          Op = "trim"
	OpLatestControl Op = "latest control"
	OpAssignment    Op = "assignment"
	OpBeat          Op = "beat"
	OpPresences     Op = "presences"
	OpLoadFold      Op = "load fold"
	OpQuarantined   Op = "quarantined"
)

// Outcome is what becomes of one call. The zero value lets it happen.
type Outcome struct {
	// Skip keeps the call from having its effect.
	Skip bool
	// Err, if not nil, is what the caller is told.
	Err error
}

var errNoAnswer = errors.New("no answer")

// Hidden lets the call happen and loses the answer.
func Hidden(op Op) Outcome {
	return Outcome{Err: &eventlog.UnknownOutcomeError{Op: string(op), Err: errNoAnswer}}
}

// Lost loses the call itself; the caller cannot tell it from [Hidden].
func Lost(op Op) Outcome {
	return Outcome{Skip: true, Err: &eventlog.UnknownOutcomeError{Op: string(op), Err: errNoAnswer}}
}

// Refuse keeps the call from happening, and says so.
func Refuse(err error) Outcome { return Outcome{Skip: true, Err: err} }

// do runs effect under the lock, unless the context has ended or a fault says otherwise.
func (l *Log) do(ctx context.Context, op Op, effect func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	out := Outcome{}
	if l.fault != nil {
		out = l.fault(ctx, op)
	}
	if out.Skip {
		return out.Err
	}
	l.mu.Lock()
	err := effect()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return out.Err
}

// Inject appends an entry of any fields, as a stranger could, and returns its position.
func (l *Log) Inject(fields ...eventlog.Field) events.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(fields)
}

// Drop deletes the stream, like DEL. Token, lease and everything else stay.
func (l *Log) Drop() { l.damage(func() { l.stream = nil }) }

// Flush deletes everything, like FLUSHALL.
func (l *Log) Flush() {
	l.damage(func() {
		l.stream, l.state = nil, newState()
		l.controlChanged.signal()
	})
}

// TrimTo removes all entries before the position, whatever the saved fold covers, like XTRIM MINID.
func (l *Log) TrimTo(before events.Position) {
	l.damage(func() {
		if l.stream != nil {
			l.stream.trim(before)
		}
	})
}

// Rewind takes back all entries behind the position, as if a replica that had not seen them took over.
func (l *Log) Rewind(last events.Position) {
	l.damage(func() {
		if l.stream != nil {
			l.stream.entries = append([]stored(nil), l.stream.entries[:l.stream.index(last.Next())]...)
			l.stream.last = last
		}
	})
}

func (l *Log) damage(effect func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	effect()
	l.logChanged.signal()
}

// DropToken deletes the token and the lease.
func (l *Log) DropToken() {
	l.damage(func() { l.state.epoch, l.state.instance, l.state.expires = 0, "", time.Time{} })
}
