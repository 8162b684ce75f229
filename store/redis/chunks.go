package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/store"
)

// putAttempts bounds how often a chunk is sent when answers get lost. Sending it again is harmless: its name is its content.
const putAttempts = 3

// PutChunk implements [store.Chunks]. Content that is there already costs one small round trip and is not compressed.
func (j *Job) PutChunk(ctx context.Context, data []byte) (store.ChunkRef, error) {
	ref, err := j.putChunk(ctx, data)
	if err != nil {
		return store.ChunkRef{}, fmt.Errorf("put chunk of %d bytes: %w", len(data), err)
	}
	return ref, nil
}

func (j *Job) putChunk(ctx context.Context, data []byte) (store.ChunkRef, error) {
	if err := j.usable(ctx); err != nil {
		return store.ChunkRef{}, err
	}
	if int64(len(data)) > j.framer.Limit() {
		return store.ChunkRef{}, fmt.Errorf("%w: at most %d", store.ErrTooLarge, j.framer.Limit())
	}
	if ref, ok, err := j.touch(ctx, store.Digest(data), int64(len(data))); ok || err != nil {
		return ref, err
	}
	frame, ref, err := j.framer.Encode(data)
	if err != nil {
		return store.ChunkRef{}, err
	}
	var lost error
	for range putAttempts {
		_, err := j.code(ctx, j.scripts.land, []string{j.keys.chunk(ref.Digest)}, j.life.Milliseconds(), frame)
		switch {
		case err == nil:
			return ref, nil
		case answered(err):
			return store.ChunkRef{}, err
		}
		lost = err
	}
	return store.ChunkRef{}, unknown(lost)
}

// touch finds a chunk with a sound header and renews its life. What is not sound is written again.
func (j *Job) touch(ctx context.Context, digest string, raw int64) (store.ChunkRef, bool, error) {
	key := j.keys.chunk(digest)
	v, err := j.run(ctx, j.scripts.touch, []string{key}, j.life.Milliseconds(), store.FrameHeader-1)
	if err != nil {
		return store.ChunkRef{}, false, err
	}
	answer, _ := v.([]any)
	if len(answer) != 2 {
		return store.ChunkRef{}, false, fmt.Errorf("script answered %T, not a length and a header", v)
	}
	size, _ := answer[0].(int64)
	head, _ := answer[1].(string)
	ref, err := j.framer.Inspect(key, digest, []byte(head), size)
	return ref, err == nil && ref.Raw == raw, nil
}

// GetChunk implements [store.Chunks]. It reads no more than the limit allows.
func (j *Job) GetChunk(ctx context.Context, digest string) ([]byte, error) {
	data, err := j.getChunk(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("get chunk %s: %w", digest, err)
	}
	return data, nil
}

func (j *Job) getChunk(ctx context.Context, digest string) ([]byte, error) {
	if err := errors.Join(j.usable(ctx), store.CheckDigest(digest)); err != nil {
		return nil, err
	}
	key := j.keys.chunk(digest)
	// A payload is never longer than the content, and content beyond the limit is refused by its header.
	frame, err := j.client.GetRange(ctx, key, 0, store.FrameHeader+j.framer.Limit()).Bytes()
	switch {
	case wrongType(err):
		return nil, &store.CorruptError{Key: key, Reason: "not a string"}
	case err != nil && !errors.Is(err, goredis.Nil):
		return nil, err
	case len(frame) == 0:
		return nil, j.missingOrEmpty(ctx, key)
	}
	return j.framer.Decode(key, digest, frame)
}

// missingOrEmpty tells a chunk that does not exist from one whose bytes are gone.
func (j *Job) missingOrEmpty(ctx context.Context, key string) error {
	n, err := j.client.Exists(ctx, key).Result()
	switch {
	case err != nil:
		return err
	case n == 1:
		return &store.CorruptError{Key: key, Reason: "empty"}
	}
	return store.ErrChunkMissing
}

// Keep implements [store.Chunks].
func (j *Job) Keep(ctx context.Context, digests []string) ([]string, error) {
	var missing []string
	epoch, instance := j.token()
	err := j.batches(ctx, digests, func(batch, keys []string) error {
		v, err := j.run(ctx, j.scripts.keep, keys, epoch, instance)
		if err != nil {
			return err
		}
		if n, ok := v.(int64); ok && n == codeFenced {
			return store.ErrFenced
		}
		at, ok := v.([]any)
		if !ok {
			return fmt.Errorf("script answered %T, not a list", v)
		}
		for _, i := range at {
			n, ok := i.(int64)
			if !ok || n < 0 || n >= int64(len(batch)) {
				return fmt.Errorf("script answered %v for %d chunks", i, len(batch))
			}
			missing = append(missing, batch[n])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("keep %d chunks: %w", len(digests), err)
	}
	return missing, nil
}

// Release implements [store.Chunks].
func (j *Job) Release(ctx context.Context, digests []string, grace time.Duration) error {
	if grace < time.Millisecond {
		return fmt.Errorf("release %d chunks: %w: grace %v is below 1ms", len(digests), store.ErrInvalid, grace)
	}
	epoch, instance := j.token()
	err := j.batches(ctx, digests, func(_, keys []string) error {
		n, err := j.code(ctx, j.scripts.release, keys, epoch, instance, grace.Milliseconds())
		if err == nil && n == codeFenced {
			return store.ErrFenced
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("release %d chunks: %w", len(digests), err)
	}
	return nil
}

// batches calls do with at most store.KeepBatch digests and the keys of a fenced script: the leader, then the chunks. A
// call with no digests still compares the token. What got no answer may have happened; repeating it is harmless, so that
// is left to the caller.
func (j *Job) batches(ctx context.Context, digests []string, do func(batch, keys []string) error) error {
	if err := j.writable(ctx); err != nil {
		return err
	}
	for _, d := range digests {
		if err := store.CheckDigest(d); err != nil {
			return err
		}
	}
	if len(digests) == 0 {
		return j.stillLeading(ctx)
	}
	for batch := range slices.Chunk(digests, store.KeepBatch) {
		keys := []string{j.keys.leader}
		for _, d := range batch {
			keys = append(keys, j.keys.chunk(d))
		}
		if err := do(batch, keys); err != nil {
			if lostAnswer(err) {
				return unknown(err)
			}
			return err
		}
	}
	return nil
}
