package memlog

import "github.com/tidemark-stream/tidemark/events"

// Token is the token in force, as a fenced store in memory needs it; ok is false when there is none.
func (l *Log) Token() (epoch events.Epoch, instance events.InstanceID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.epoch, l.state.instance, l.state.epoch > 0
}
