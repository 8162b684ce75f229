package e2e_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestAJobOverTLSWithAClientCertificate(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	port := freePort(t)
	testredis.Start(t, "--tls-port", port, "--tls-ca-cert-file", c.ca, "--tls-cert-file", c.cert, "--tls-key-file", c.key,
		"--tls-auth-clients", "yes")
	at := "rediss://127.0.0.1:" + port
	runToTheEnd(t, newJob(t, at+"?tls_ca="+c.ca+"&tls_cert="+c.cert+"&tls_key="+c.key))
	newJob(t, at).refused(1, []string{"list"}, "certificate")
	newJob(t, at+"?tls_ca="+c.ca+".none").refused(2, []string{"list"}, "tls_ca")
}

func TestAJobOnACluster(t *testing.T) {
	t.Parallel()
	c := testredis.StartCluster(t, 3)
	runToTheEnd(t, newJob(t, "redis+cluster://"+strings.Join(c.Addrs(), ",")))
}

// TestTheDocumentedACLRulesSuffice runs a job with users that have nothing but what docs/operations.md gives them.
func TestTheDocumentedACLRulesSuffice(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	admin := s.Client(t)
	users := 0
	for _, rule := range aclRules(t) {
		args := []any{"ACL"}
		for _, word := range strings.Fields(strings.ReplaceAll(rule, "{flights}", "{e2e}"))[1:] {
			args = append(args, word)
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		users++
	}
	if users != 2 {
		t.Fatalf("the document has %d users, want a coordinator and a worker", users)
	}
	j := newJob(t, "redis://tide-coordinator:change-me@"+s.Addr())
	serve := j.serve("--interval", "200ms", "--retain", "1")
	serve.logged("leading")
	asWorker := *j
	asWorker.env = append(append([]string{}, j.env...), "TIDEMARK_REDIS=redis://tide-worker:change-me@"+s.Addr())
	all := asWorker.work("5000")
	j.must("status")
	for _, w := range all {
		if w.wait() != 0 {
			t.Fatalf("%s ended with %d", w.name, w.code)
		}
	}
	j.check()
	for _, call := range []string{"health", "list", "log", "status"} {
		j.must(strings.Fields(call)...)
	}
	serve.signal(os.Interrupt)
	if code := serve.wait(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
	j.must("forget", "--yes", "--force")
	if denied, err := admin.Do(t.Context(), "ACL", "LOG").Slice(); err != nil || len(denied) > 0 {
		t.Errorf("refused by ACL: %v, %v", denied, err)
	}
	worker := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "tide-worker", Password: "change-me", DisableIdentity: true})
	t.Cleanup(func() { _ = worker.Close() })
	for _, key := range []string{"tm:{e2e}:leader", "tm:{e2e}:fold", "tm:{other}:log", "foreign"} {
		if err := worker.HSet(t.Context(), key, "a", "b").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("the worker may write %s: %v", key, err)
		}
	}
}

// aclRules are the lines of the document that make users.
func aclRules(t *testing.T) (rules []string) {
	t.Helper()
	b, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\\\n", " ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ACL SETUSER ") {
			rules = append(rules, strings.ReplaceAll(strings.TrimSpace(line), "'", ""))
		}
	}
	return rules
}

func TestAJobOutlivesAFailoverOfSentinel(t *testing.T) {
	t.Parallel()
	master := testredis.Start(t, "--appendonly", "yes", "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		t.Fatal(err)
	}
	replica := testredis.Start(t, "--appendonly", "yes", "--replicaof", host, port).Client(t)
	await(t, "the replica", func() bool { return info(t.Context(), replica, "master_link_status:up") })
	sentinel := startSentinel(t, host, port)
	await(t, "the sentinel to know the replica", func() bool { return info(t.Context(), sentinel, "slaves=1") })

	j := newJob(t, "redis+sentinel://"+sentinel.Options().Addr+"/main")
	serve := j.serve("--interval", "200ms")
	all := j.work("1500")
	await(t, "a completed checkpoint", func() bool { return completed(t, j) > 2 })
	master.Stop()
	await(t, "the replica to be master", func() bool { return info(t.Context(), replica, "role:master") })
	for _, w := range all {
		if w.ended() {
			t.Fatalf("%s has ended before the failover", w.name)
		}
	}
	for _, w := range all {
		if code := w.wait(); code != 0 {
			t.Errorf("%s ended with %d", w.name, code)
		}
	}
	j.check()
	serve.signal(os.Interrupt)
	if code := serve.wait(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}

func info(ctx context.Context, c *redis.Client, text string) bool {
	all, err := c.Info(ctx).Result()
	return err == nil && strings.Contains(all, text)
}

// startSentinel watches a master under the name main.
func startSentinel(t *testing.T, host, port string) *redis.Client {
	t.Helper()
	own := freePort(t)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "port " + own + "\nbind 127.0.0.1\nsentinel monitor main " + host + " " + port + " 1\n" +
		"sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("redis-server", conf, "--sentinel") //nolint:noctx // killed when the test ends
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed: the status says nothing
	})
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + own, DisableIdentity: true})
	t.Cleanup(func() { _ = c.Close() })
	await(t, "the sentinel", func() bool { return info(t.Context(), c, "redis_mode:sentinel") })
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}
