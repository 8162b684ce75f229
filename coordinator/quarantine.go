package coordinator

import (
	"context"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

const keyQuarantine = "quarantine"

// mostPoison bounds the poison entries that wait for their place in quarantine, about 1 MiB: of a flood the newest are put
// aside. All still stand in the event log itself.
const mostPoison = 256

// setAside steps over an entry that is no event. It is quarantined now, or when this coordinator leads.
func (l *loop) setAside(entry eventlog.Entry) {
	l.state.Skip(entry.Position)
	l.log.Warn().Stringer("position", entry.Position).Str("reason", string(entry.Poison.Reason)).
		Str("text", entry.Poison.Text).Msg("poison entry in the log; quarantined")
	if len(l.poison) == mostPoison {
		l.poison = l.poison[1:]
	}
	l.poison = append(l.poison, entry)
}

// quarantine stores what was set aside. Storing an entry twice is harmless.
func (l *loop) quarantine(r *reign) {
	if len(l.poison) == 0 || !l.logLane.ready(l.clock(), keyQuarantine) {
		return
	}
	entries := append([]eventlog.Entry(nil), l.poison...)
	l.logLane.start(r.ctx, l.clock(), keyQuarantine, func(ctx context.Context) result {
		if err := r.term.Quarantine(ctx, entries...); err != nil {
			return l.failed(r, "quarantine poison entries", err)
		}
		return result{done: func(l *loop) { l.poison = behind(l.poison, entries[len(entries)-1].Position) }}
	})
}

// behind are the entries after the position.
func behind(entries []eventlog.Entry, at events.Position) []eventlog.Entry {
	for i, e := range entries {
		if e.Position.After(at) {
			return append([]eventlog.Entry(nil), entries[i:]...)
		}
	}
	return nil
}
