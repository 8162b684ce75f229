package subscriber

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Keys of the metadata of a message.
const (
	MetadataPosition = "position" // of the entry, as Redis prints it
	MetadataKind     = "kind"
	MetadataJob      = "job"
)

// ErrClosed is returned by Subscribe after Close.
var ErrClosed = errors.New("subscriber is closed")

// DefaultNackPause is the pause before a refused message comes again. Without one, a handler that always fails spins.
const DefaultNackPause = 100 * time.Millisecond

// Log is what a subscriber reads.
type Log interface {
	eventlog.Reader
	Job() events.JobID
}

// Config makes a Subscriber; only Log is mandatory. The functions are called by the subscription's goroutine and may block
// it; nil means that nobody wants to know.
type Config struct {
	Log Log
	// After is the position behind which a subscription begins; the zero value is the start of the log.
	After events.Position
	// Follow tunes the reading.
	Follow eventlog.FollowOptions
	// NackPause is the pause before a refused message comes again; 0 means DefaultNackPause.
	NackPause time.Duration
	// OnPoison is told each entry that is no event.
	OnPoison func(eventlog.Entry)
	// OnGap is told that entries are lost, and that all that is there now comes again from its start.
	OnGap func(eventlog.Gap)
	// OnError is told the error that ends a subscription.
	OnError func(error)
}

// Subscriber is a watermill subscriber of one log. Make it with [New].
type Subscriber struct {
	c       Config
	closing chan struct{} // closed by Close; nothing is sent

	mu     sync.Mutex
	closed bool           // guarded by mu
	live   sync.WaitGroup // Add is guarded by mu
}

var _ message.Subscriber = (*Subscriber)(nil)

// New makes a subscriber; it starts nothing.
func New(c Config) *Subscriber {
	if c.NackPause == 0 {
		c.NackPause = DefaultNackPause
	}
	return &Subscriber{c: c, closing: make(chan struct{})}
}

// Topic is the only topic that Subscribe takes: the key of the log.
func (s *Subscriber) Topic() string { return eventlog.KeysOf(s.c.Log.Job()).Log() }

// Subscribe implements [message.Subscriber].
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic != s.Topic() {
		return nil, fmt.Errorf("subscribe to %q: this subscriber has %q alone", topic, s.Topic())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("subscribe to %q: %w", topic, ErrClosed)
	}
	// The goroutine below sends and closes; without room, since each message waits for its ack anyway.
	out := make(chan *message.Message)
	s.live.Go(func() { // joined by Close
		defer close(out)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		s.live.Go(func() { // joined by Close; ends at the latest with the context above
			select {
			case <-s.closing:
				cancel(ErrClosed)
			case <-ctx.Done():
			}
		})
		if err := s.run(ctx, out); err != nil && s.c.OnError != nil {
			s.c.OnError(err)
		}
	})
	return out, nil
}

// Close ends all subscriptions and waits for them.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	s.live.Wait()
	return nil
}

// run delivers until ctx ends, which is no error.
func (s *Subscriber) run(ctx context.Context, out chan<- *message.Message) error {
	for batch, err := range s.c.Log.Follow(ctx, s.c.After, s.c.Follow) {
		if err != nil {
			return err
		}
		if batch.Gap != nil && s.c.OnGap != nil {
			s.c.OnGap(*batch.Gap)
		}
		for _, e := range batch.Entries {
			if e.Poison != nil {
				if s.c.OnPoison != nil {
					s.c.OnPoison(e)
				}
				continue
			}
			if err := s.deliver(ctx, out, e); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return nil
			}
		}
	}
	return nil
}

// deliver hands the entry over until it is acked or ctx ends.
func (s *Subscriber) deliver(ctx context.Context, out chan<- *message.Message, e eventlog.Entry) error {
	payload, err := e.Envelope.Encode(nil)
	if err != nil {
		return fmt.Errorf("entry %s: %w", e.Position, err)
	}
	for ctx.Err() == nil {
		if s.offer(ctx, out, e, payload) {
			return nil
		}
		select {
		case <-time.After(s.c.NackPause):
		case <-ctx.Done():
		}
	}
	return nil
}

// offer hands out one copy of the message; true means that it was acked.
func (s *Subscriber) offer(ctx context.Context, out chan<- *message.Message, e eventlog.Entry, payload []byte) bool {
	job := e.Envelope.Job
	if job.IsZero() {
		job = s.c.Log.Job()
	}
	m := message.NewMessage(string(e.Envelope.ID), append([]byte(nil), payload...))
	m.Metadata.Set(MetadataPosition, e.Position.String())
	m.Metadata.Set(MetadataKind, string(e.Envelope.Kind()))
	m.Metadata.Set(MetadataJob, string(job))
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	m.SetContext(own)
	select {
	case out <- m:
	case <-ctx.Done():
		return false
	}
	select {
	case <-m.Acked():
		return true
	case <-m.Nacked():
		return false
	case <-ctx.Done():
		return false
	}
}
