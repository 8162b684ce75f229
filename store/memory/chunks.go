package memory

import (
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/store"
)

// chunks are the framed chunks of a job. Lives are counted by the time package, so that a synctest bubble moves them.
type chunks struct {
	framer *store.Framer
	life   time.Duration

	mu       sync.Mutex
	byDigest map[string]chunk // guarded by mu
}

// chunk is one frame; a zero expiry means permanent.
type chunk struct {
	frame   []byte
	expires time.Time
}

func (c *chunks) put(data []byte) (store.ChunkRef, error) {
	frame, ref, err := c.framer.Encode(data)
	if err != nil {
		return ref, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	old, ok := c.live(ref.Digest, now)
	if ok && old.expires.IsZero() {
		return ref, nil
	}
	expires := now.Add(c.life)
	if ok && old.expires.After(expires) {
		expires = old.expires
	}
	c.byDigest[ref.Digest] = chunk{frame: frame, expires: expires}
	return ref, nil
}

func (c *chunks) get(digest string) ([]byte, error) {
	if err := store.CheckDigest(digest); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.live(digest, time.Now())
	if !ok {
		return nil, store.ErrChunkMissing
	}
	return c.framer.Decode("chunk "+digest, digest, ch.frame)
}

func (c *chunks) keep(digests []string) (missing []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, d := range digests {
		ch, ok := c.live(d, now)
		if !ok {
			missing = append(missing, d)
			continue
		}
		ch.expires = time.Time{}
		c.byDigest[d] = ch
	}
	return missing
}

func (c *chunks) release(digests []string, grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, d := range digests {
		if ch, ok := c.live(d, now); ok && ch.expires.IsZero() {
			ch.expires = now.Add(grace)
			c.byDigest[d] = ch
		}
	}
}

// live drops a chunk whose life is over; the lock is held.
func (c *chunks) live(digest string, now time.Time) (chunk, bool) {
	ch, ok := c.byDigest[digest]
	if ok && !ch.expires.IsZero() && !now.Before(ch.expires) {
		delete(c.byDigest, digest)
		return chunk{}, false
	}
	return ch, ok
}
