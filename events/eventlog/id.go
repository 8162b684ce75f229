package eventlog

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/tidemark-stream/tidemark/events"
)

// NewEventID makes an event id that no other event has: 128 random bits in hex.
func NewEventID() events.EventID { return events.EventID(random()) }

// NewInstanceID makes an instance id that no other process start has.
func NewInstanceID() events.InstanceID { return events.InstanceID(random()) }

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}
