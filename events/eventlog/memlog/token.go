package memlog

import "github.com/tidemark-stream/tidemark/events"

// Token is the token in force: epoch and instance of the newest term; false if there is none. A store in memory that
// belongs to the same job compares it with that of a writer. It takes the log's lock alone.
func (l *Log) Token() (events.Epoch, events.InstanceID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.epoch, l.state.instance, l.state.epoch > 0
}
