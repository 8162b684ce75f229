package redis

import (
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// Default key prefixes. That of a job is followed by the job as hash tag: streaming:runtime:checkpoint:{orders}:7.
const (
	DefaultKeyPrefix    = "checkpoint:"
	DefaultJobKeyPrefix = "streaming:runtime:checkpoint:"
)

// DefaultScanCount is the default number of keys that one SCAN call looks at: a few milliseconds of the server at
// most, and 500 round trips for a million keys.
const DefaultScanCount = 2000

// Options configure [New]. The zero value is ready.
type Options struct {
	// KeyPrefix stands before the id in each key. It is literal: *, ?, [ and \ mean themselves. Default "" means
	// [DefaultKeyPrefix]. On a Cluster it must contain a hash tag, as in "{app}:checkpoint:".
	KeyPrefix string
	// MaxRecord is the limit of an encoded record in bytes. Default 0 means [store.DefaultMaxRecord].
	MaxRecord int
	// ScanCount is the number of keys that one SCAN call looks at. Default 0 means [DefaultScanCount].
	ScanCount int64
	// TrustIndex opens without a SCAN where a whole index is found. Default false, which also finds the records
	// that foreign writers have left. Set it where nobody else writes and opening must be quick.
	TrustIndex bool
}

// JobOptions configure [NewJob]. The zero value is ready.
type JobOptions struct {
	// KeyPrefix stands before {job}: and must not contain braces. Default "" means [DefaultJobKeyPrefix].
	KeyPrefix string
	// MaxRecord is the limit of an encoded record in bytes. Default 0 means [store.DefaultMaxRecord].
	MaxRecord int
	// MaxChunk is the limit of the content of a chunk in bytes. Default 0 means [store.DefaultMaxChunk].
	MaxChunk int64
	// ChunkLife is how long an unclaimed chunk lives, at least 1 ms. Default 0 means [store.DefaultChunkLife].
	ChunkLife time.Duration
	// ScanCount is as in [Options].
	ScanCount int64
	// TrustIndex is as in [Options].
	TrustIndex bool
}

func (o Options) withDefaults() Options {
	if o.KeyPrefix == "" {
		o.KeyPrefix = DefaultKeyPrefix
	}
	if o.MaxRecord == 0 {
		o.MaxRecord = store.DefaultMaxRecord
	}
	if o.ScanCount == 0 {
		o.ScanCount = DefaultScanCount
	}
	return o
}

func (o Options) validate(client goredis.UniversalClient) error {
	switch {
	case o.MaxRecord < 0:
		return fmt.Errorf("%w: record limit %d is negative", store.ErrInvalid, o.MaxRecord)
	case o.ScanCount < 0:
		return fmt.Errorf("%w: scan count %d is negative", store.ErrInvalid, o.ScanCount)
	}
	switch c := client.(type) {
	case *goredis.Client:
		return nil
	case *goredis.ClusterClient:
		return o.validateCluster(c.Options())
	default:
		return fmt.Errorf("%w: client %T has no one server that owns a prefix; use a Client, a failover client or a ClusterClient",
			store.ErrInvalid, client)
	}
}

func (o Options) validateCluster(c *goredis.ClusterOptions) error {
	if hashTag(o.KeyPrefix) == "" {
		return fmt.Errorf("%w: key prefix %q has no hash tag, so its keys are on many nodes of the Cluster; use one like %q",
			store.ErrInvalid, o.KeyPrefix, "{app}:"+o.KeyPrefix)
	}
	if c.ReadOnly || c.RouteByLatency || c.RouteRandomly {
		return fmt.Errorf("%w: the Cluster client reads from replicas, which may not know of a write yet; turn that off",
			store.ErrInvalid)
	}
	return nil
}

// jobPrefix is the prefix of the records of a job.
func (o JobOptions) jobPrefix(job events.JobID) (string, error) {
	prefix := o.KeyPrefix
	if prefix == "" {
		prefix = DefaultJobKeyPrefix
	}
	if strings.ContainsAny(prefix, "{}") {
		return "", fmt.Errorf("%w: key prefix %q contains a brace; the hash tag of a job's keys is the job", store.ErrInvalid, prefix)
	}
	if _, err := events.ParseJobID(job.String()); err != nil {
		return "", fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return prefix + "{" + job.String() + "}:", nil
}

// hashTag is the part of a key that alone decides on its slot, or empty if all of it does.
func hashTag(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	if !ok {
		return ""
	}
	tag, _, ok := strings.Cut(rest, "}")
	if !ok {
		return ""
	}
	return tag
}

// globEscaper makes a prefix literal in a MATCH pattern.
func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
