package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// DefaultMaxChunk is the default limit of the content of one chunk, in bytes.
const DefaultMaxChunk = 64 << 20

const (
	digestLen = sha256.Size
	// FrameHeader is the size of the header before the payload of a chunk.
	FrameHeader = 48

	frameMagic   = "TMCH"
	frameVersion = 1

	codecRaw  = 0
	codecZstd = 1

	// minCompress is the size below which a zstd frame cannot win against its own header.
	minCompress = 64
	// maxEncoders bounds the memory of compression: each holds a few MiB once it has been used.
	maxEncoders = 4
)

// Framer turns content into the stored form of a chunk and back. It is safe for concurrent use and shares
// its compressors between the callers.
type Framer struct {
	limit int64
	enc   *zstd.Encoder
	dec   *zstd.Decoder
}

// NewFramer returns a framer for content of at most limit bytes; 0 means [DefaultMaxChunk]. An error wraps [ErrInvalid].
func NewFramer(limit int64) (*Framer, error) {
	if limit == 0 {
		limit = DefaultMaxChunk
	}
	if limit < 0 || limit > math.MaxUint32 {
		return nil, fmt.Errorf("%w: chunk limit %d is not within 1 and %d", ErrInvalid, limit, uint32(math.MaxUint32))
	}
	workers := min(runtime.GOMAXPROCS(0), maxEncoders)
	// The fastest level takes half the time of the default one on JSON-like state, at the same size; the checksum of
	// zstd would repeat what the digest says.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(workers), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	// The capacity of the destination is the declared size, so that a payload that grows beyond it is refused while it
	// grows and not afterwards.
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(workers), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(max(uint64(limit), 1<<20)))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return &Framer{limit: limit, enc: enc, dec: dec}, nil
}

// Digest is the name of a chunk with this content.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Limit is the largest content that Encode takes and Decode returns, in bytes.
func (f *Framer) Limit() int64 { return f.limit }

// Encode returns the frame of data, compressed if that makes it smaller, and its name. The same data gives the same
// frame. Content over the limit is [ErrTooLarge].
func (f *Framer) Encode(data []byte) ([]byte, ChunkRef, error) {
	if int64(len(data)) > f.limit {
		return nil, ChunkRef{}, fmt.Errorf("chunk of %d bytes, at most %d: %w", len(data), f.limit, ErrTooLarge)
	}
	sum := sha256.Sum256(data)
	b := make([]byte, FrameHeader, FrameHeader+len(data))
	codec := byte(codecRaw)
	if len(data) >= minCompress {
		if packed := f.enc.EncodeAll(data, b); len(packed) < FrameHeader+len(data) {
			b, codec = packed, codecZstd
		}
	}
	if codec == codecRaw {
		b = append(b[:FrameHeader], data...)
	}
	copy(b, frameMagic)
	b[4], b[5] = frameVersion, codec
	binary.BigEndian.PutUint32(b[8:], uint32(len(data)))
	binary.BigEndian.PutUint32(b[12:], uint32(len(b)-FrameHeader))
	copy(b[16:], sum[:])
	return b, ChunkRef{Digest: hex.EncodeToString(sum[:]), Bytes: int64(len(b)), Raw: int64(len(data))}, nil
}

// Decode returns the content of a frame. Key is what errors call it. Whatever the frame claims, no more than the limit
// is ever made of it. An error is a [*CorruptError] or wraps [ErrTooLarge] or [ErrVersion].
func (f *Framer) Decode(key, digest string, frame []byte) ([]byte, error) {
	ref, err := f.Inspect(key, digest, frame, int64(len(frame)))
	if err != nil {
		return nil, err
	}
	data, err := f.unpack(frame[5], frame[FrameHeader:], ref.Raw)
	if err != nil {
		return nil, corrupt(key, "zstd payload of %d bytes, said to become %d: %v", ref.Bytes-FrameHeader, ref.Raw, err)
	}
	if int64(len(data)) != ref.Raw {
		return nil, corrupt(key, "%d bytes of content, said to be %d", len(data), ref.Raw)
	}
	if got := Digest(data); got != digest {
		return nil, corrupt(key, "content has digest %s", got)
	}
	return data, nil
}

// unpack returns memory of its own, since the frame stays the caller's.
func (f *Framer) unpack(codec byte, payload []byte, raw int64) ([]byte, error) {
	if codec == codecRaw {
		return append([]byte{}, payload...), nil
	}
	return f.dec.DecodeAll(payload, make([]byte, 0, raw))
}

// Inspect checks the header of a frame without its payload: head is at least its first [FrameHeader] bytes, size the length
// of the whole. It returns errors as Decode does.
func (f *Framer) Inspect(key, digest string, head []byte, size int64) (ChunkRef, error) {
	if len(head) < FrameHeader {
		return ChunkRef{}, corrupt(key, "%d bytes are too short for a frame", len(head))
	}
	raw := int64(binary.BigEndian.Uint32(head[8:]))
	payload := int64(binary.BigEndian.Uint32(head[12:]))
	switch {
	case string(head[:4]) != frameMagic:
		return ChunkRef{}, corrupt(key, "no frame: starts with %q", head[:4])
	case head[4] > frameVersion: // not damage: nobody may take it for a reason to throw state away
		return ChunkRef{}, fmt.Errorf("%s: frame version %d; this release reads up to %d: %w", key, head[4], frameVersion, ErrVersion)
	case head[4] != frameVersion:
		return ChunkRef{}, corrupt(key, "frame version %d; this release reads %d", head[4], frameVersion)
	case head[5] > codecZstd || head[6] != 0 || head[7] != 0:
		return ChunkRef{}, corrupt(key, "unknown codec %d, flags %d %d", head[5], head[6], head[7])
	case raw > f.limit:
		return ChunkRef{}, fmt.Errorf("%s: content of %d bytes, at most %d: %w", key, raw, f.limit, ErrTooLarge)
	case size != FrameHeader+payload:
		return ChunkRef{}, corrupt(key, "frame of %d bytes, said to be %d", size, FrameHeader+payload)
	case hex.EncodeToString(head[16:FrameHeader]) != digest:
		return ChunkRef{}, corrupt(key, "frame of another chunk, %x", head[16:FrameHeader])
	}
	return ChunkRef{Digest: digest, Bytes: size, Raw: raw}, nil
}
