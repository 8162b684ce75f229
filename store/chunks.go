package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// DefaultChunkLife is how long a chunk lives that no completed checkpoint has claimed. It must be longer than a
// checkpoint can be pending, and is counted again from each upload of the same content.
const DefaultChunkLife = time.Hour

// KeepBatch is the largest number of chunks that one atomic step of Keep and Release touches: 500 keys are a fraction
// of a millisecond of a server that does nothing else meanwhile.
const KeepBatch = 500

// ChunkRef names a stored piece of state.
type ChunkRef struct {
	// Digest is the SHA-256 of the content in lower-case hexadecimal; it is the name.
	Digest string `json:"digest"`
	// Bytes is the stored size, header included, after compression. A chunk that was there already reports the size of
	// what is stored.
	Bytes int64 `json:"bytes"`
	// Raw is the size of the content.
	Raw int64 `json:"raw"`
}

// Chunks keeps pieces of state by content: the same bytes are stored once and shared between checkpoints.
//
//	PutChunk: no such chunk ──► mortal, full life        Keep:    mortal    ──► permanent
//	          mortal        ──► mortal, full life        Release: permanent ──► mortal, grace
//	          permanent     ──► permanent                         mortal    ──► as it is
//
// So a life is never shortened, and a permanent chunk becomes mortal by Release alone. Nothing deletes a chunk.
type Chunks interface {
	// PutChunk stores data and returns when it has landed. It is the worker's call and not fenced. Content that is
	// there already is not sent again; if it is mortal, its life starts anew in the same atomic step that looks at
	// it, so that a chunk about to expire is not relied upon.
	PutChunk(ctx context.Context, data []byte) (ChunkRef, error)
	// GetChunk returns the content. It may return [ErrChunkMissing] or a [*CorruptError], or [ErrTooLarge], or [ErrVersion] for
	// a chunk of a newer release.
	GetChunk(ctx context.Context, digest string) ([]byte, error)
	// Keep makes chunks permanent and proves each of them, at most [KeepBatch] in one fenced atomic step. It returns the
	// digests of those that do not exist, in the order given. The others are permanent then: whoever gives up because
	// of the missing ones releases them.
	Keep(ctx context.Context, digests []string) (missing []string, err error)
	// Release gives permanent chunks the life grace, at most [KeepBatch] in one fenced atomic step. Mortal and
	// missing ones are left alone, so that repeating it changes nothing. A grace below one millisecond is
	// [ErrInvalid].
	Release(ctx context.Context, digests []string, grace time.Duration) error
}

// CheckDigest returns an error that wraps [ErrInvalid] unless s is 64 lower-case hexadecimal digits.
func CheckDigest(s string) error {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != digestLen || hex.EncodeToString(b) != s {
		return fmt.Errorf("%w: digest %q is not 64 lower-case hexadecimal digits", ErrInvalid, s)
	}
	return nil
}
