package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrRefused is wrapped by [Check] when a server answers and does not let us in.
var ErrRefused = errors.New("access refused")

// Finding is one thing about the server that an operator should know.
type Finding struct {
	// Fatal says that the service cannot work there; otherwise it can, at a risk.
	Fatal bool
	// Text says what is wrong and what to do.
	Text string
}

// Oldest server that is supported: XTRIM MINID came with 6.2.
const oldestMajor, oldestMinor = 6, 2

// Check asks the server what it is and returns what is wrong with that. What the server does not tell (a managed
// service without CONFIG) is no finding. The error is about the connection.
func Check(ctx context.Context, client redis.UniversalClient) ([]Finding, error) {
	if err := client.Ping(ctx).Err(); err != nil {
		if isReply(err, "NOAUTH", "WRONGPASS", "NOPERM") {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, err
	}
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return nil, ignoreRefusal(err)
	}
	var found []Finding
	if f := checkVersion(infoField(info, "redis_version")); f != nil {
		found = append(found, *f)
	}
	policy := config(ctx, client, "maxmemory-policy")
	if policy != "" && policy != "noeviction" {
		found = append(found, Finding{Text: fmt.Sprintf(
			"maxmemory-policy is %s: under memory pressure redis would drop the log without an error; set it to noeviction", policy)})
	}
	if config(ctx, client, "appendonly") == "no" {
		text := "appendonly is no: a crash of redis loses what was written since the last save; set appendonly yes"
		if config(ctx, client, "save") == "" {
			text = "redis keeps nothing on disk (appendonly no, no save points): a restart of redis loses the job; set appendonly yes"
		}
		found = append(found, Finding{Text: text})
	}
	return found, nil
}

// ignoreRefusal drops an error reply (no permission, unknown command): the server is there, it just does not tell.
func ignoreRefusal(err error) error {
	if isReply(err, "") {
		return nil
	}
	return fmt.Errorf("ask for its version: %w", err)
}

// isReply reports whether err is an error reply of the server that begins with one of the words.
func isReply(err error, words ...string) bool {
	reply := redis.Error(nil)
	return errors.As(err, &reply) && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(reply.Error(), w) })
}

func config(ctx context.Context, client redis.UniversalClient, name string) string {
	values, err := client.ConfigGet(ctx, name).Result()
	if err != nil {
		return ""
	}
	return values[name]
}

func checkVersion(version string) *Finding {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err1 := strconv.Atoi(major)
	n, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil || m > oldestMajor || m == oldestMajor && n >= oldestMinor {
		return nil
	}
	return &Finding{Fatal: true, Text: fmt.Sprintf("redis %s is too old: %d.%d or newer is needed", version, oldestMajor, oldestMinor)}
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
