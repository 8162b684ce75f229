package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/target"
)

// prefixesOf are what every key of the job begins with, one of the two.
func prefixesOf(t *target.Target) []string {
	return []string{
		t.KeyPrefix + "{" + t.Job.String() + "}:",
		strings.TrimSuffix(eventlog.KeysOf(t.Job).Log(), "log"),
	}
}

// keysOf scans for the keys of the job: records and state first, so that a deletion that is cut short leaves the log, and
// with it a job that says what it misses.
func keysOf(ctx context.Context, t *target.Target) ([]string, error) {
	var node redis.Cmdable = t.Client
	if cluster, ok := t.Client.(*redis.ClusterClient); ok { // all are in one slot, and a scan asks one node
		master, err := cluster.MasterForKey(ctx, eventlog.KeysOf(t.Job).Log())
		if err != nil {
			return nil, fmt.Errorf("find the node of job %s: %w", t.Job, err)
		}
		node = master
	}
	var keys []string
	seen := map[string]bool{} // a scan may say a key twice
	for _, prefix := range prefixesOf(t) {
		const count = 1000 // keys a reply looks at: a few ms of the server's time
		scan := node.Scan(ctx, 0, literal(prefix)+"*", count).Iterator()
		for scan.Next(ctx) {
			if key := scan.Val(); !seen[key] && strings.HasPrefix(key, prefix) {
				seen[key] = true
				keys = append(keys, key)
			}
		}
		if err := scan.Err(); err != nil {
			return nil, fmt.Errorf("scan for the keys of job %s: %w", t.Job, err)
		}
	}
	return keys, nil
}

// literal makes a pattern that only the text itself matches.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// aliveTasks are the tasks with a sign of life, which is a key with a TTL.
func aliveTasks(t *target.Target, keys []string) (tasks []string) {
	for _, key := range keys {
		if task, ok := strings.CutPrefix(key, eventlog.KeysOf(t.Job).Task("")); ok {
			tasks = append(tasks, task)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// unlink deletes the keys; the server frees their memory in its own time.
func unlink(ctx context.Context, t *target.Target, keys []string) error {
	const batch = 500
	for some := range slices.Chunk(keys, batch) {
		if err := t.Client.Unlink(ctx, some...).Err(); err != nil {
			return fmt.Errorf("delete the keys of job %s: %w", t.Job, err)
		}
	}
	return nil
}
