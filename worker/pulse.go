package worker

import (
	"sync/atomic"
	"time"
)

// What a sign of life says the attempt is doing.
const (
	phaseRegistering = "registering"
	phaseRestoring   = "restoring"
	phaseRunning     = "running"
	phaseFinishing   = "finishing" // the input has ended, its end state is not in a completed checkpoint yet
	phaseStopping    = "stopping"
	phaseStopped     = "stopped"
)

// pulse is what the goroutine that beats shares with the others.
type pulse struct {
	began    time.Time
	phase    atomic.Value             // string
	pipeline atomic.Pointer[Pipeline] // nil before it is built
	sent     atomic.Int64             // nanoseconds since began: when the newest sign that arrived was sent
}

func newPulse() *pulse {
	p := &pulse{began: time.Now()}
	p.phase.Store(phaseRestoring)
	return p
}

// since is how long ago the newest sign of life was given; at least so long it has been alive for others. The time is
// the monotonic clock's, which goes on while the process is stopped.
func (p *pulse) since() time.Duration { return time.Since(p.began) - time.Duration(p.sent.Load()) }
