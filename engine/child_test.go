package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// The test binary is also the process that is killed and paused: with childEnv set to "input output restore-from" it runs the
// job below, prints "cut <file>" for each cut that it has stored, "final <file>" for one after the end, and waits for a line
// on stdin before it takes that as completed.
const childEnv = "TIDEMARK_ENGINE_TEST_CHILD"

type reading struct {
	TS  int64  `json:"ts"`
	Key string `json:"key"`
	N   int64  `json:"n"`
}

// childJob is a job with running sums and windows of them, from file to file.
func childJob(input, output string, rate float64) (*engine.Pipeline, error) {
	g := engine.New(engine.Config{MaxParallelism: 8, Queue: 32})
	src := engine.From(g, engine.Throttle[reading](engine.JSONLines[reading]{Path: input}, rate))
	timed := engine.EventTime(src, func(r reading) int64 { return r.TS }, engine.Bounded(50*time.Millisecond))
	key := func(r reading) string { return r.Key }
	sums := engine.Reduce(engine.KeyBy(timed, key), func(a, r reading) reading { return reading{r.TS, r.Key, a.N + r.N} })
	counts := engine.ReduceWindow(engine.Window(engine.KeyBy(sums, key), window.Tumbling(20*time.Millisecond)), func(a, r reading) reading {
		return reading{r.TS, r.Key, a.N ^ r.N}
	})
	engine.ToFile(counts, output, engine.JSONRow[engine.Result[string, reading]])
	return g.Build()
}

func childMain() int {
	f := strings.Fields(os.Getenv(childEnv))
	if err := runChild(context.Background(), f[0], f[1], f[2]); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func runChild(ctx context.Context, input, output, from string) error {
	p, err := childJob(input, output, 20_000)
	if err != nil {
		return err
	}
	if from != "-" {
		if err := restoreFile(ctx, p, from); err != nil {
			return err
		}
	}
	ended := make(chan error, 1) // one send, by the goroutine below, which ends with it
	go func() { ended <- p.Run(ctx) }()
	for id := int64(1); ; id++ {
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			return finishChild(ctx, p, output, id)
		default:
			if err := storeCut(ctx, p, output, "cut", id); err != nil {
				return err
			}
		}
	}
}

// finishChild takes the last cut and commits it when told to.
func finishChild(ctx context.Context, p *engine.Pipeline, output string, id int64) error {
	if err := storeCut(ctx, p, output, "final", id); err != nil {
		return err
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return nil //nolint:nilerr // The parent has closed it: nobody completes this cut.
	}
	return p.Completed(ctx, id)
}

// storeCut writes a cut to a file and says so.
func storeCut(ctx context.Context, p *engine.Pipeline, output, verb string, id int64) error {
	s, err := p.Cut(ctx, id)
	items, err := encodeAll(s, err)
	if err != nil {
		return err
	}
	b, err := json.Marshal(items)
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(output), "cuts", fmt.Sprintf("%d-%d", os.Getpid(), id))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return err
	}
	_, err = fmt.Println(verb, path)
	return err
}

func restoreFile(ctx context.Context, p *engine.Pipeline, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var items map[string][]byte
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	return p.Restore(ctx, items, engine.Adopt)
}

// child is a running one, seen by the test.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	stdin interface{ Close() error }
	tell  func(string) error
	cut   string // newest stored cut
}

func startChild(t *testing.T, input, output, from string) *child {
	t.Helper()
	if from == "" {
		from = "-"
	}
	c := spawn(t, childEnv+"="+strings.Join([]string{input, output, from}, " "))
	c.cut = from
	return c
}

// spawn starts this test as a process that the environment tells what to be.
func spawn(t *testing.T, env string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // It is this test.
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, lines: bufio.NewScanner(stdout), stdin: stdin}
	c.tell = func(s string) error { _, err := fmt.Fprintln(stdin, s); return err }
	return c
}

// follow reads up to n cuts and says whether the child has come to its end.
func (c *child) follow(n int) (final bool) {
	for ; n > 0 && c.lines.Scan(); n-- {
		verb, path, _ := strings.Cut(c.lines.Text(), " ")
		c.cut = path
		if verb == "final" {
			return true
		}
	}
	return false
}

func (c *child) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// finish lets the child come to its end; completed says whether its last cut is to count.
func (c *child) finish(t *testing.T, completed bool) {
	t.Helper()
	for !c.follow(1 << 30) {
		t.Fatal("child ended without a final cut")
	}
	if completed {
		if err := c.tell("completed"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.stdin.Close(), c.cmd.Wait()); err != nil {
		t.Fatal(err)
	}
}

// childFiles makes the input, and the output of an uninterrupted run.
func childFiles(t *testing.T) (input, output, want string) {
	t.Helper()
	dir := t.TempDir()
	input, output = filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	if err := os.Mkdir(filepath.Join(dir, "cuts"), 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "{\"ts\":%d,\"key\":\"k%d\",\"n\":%d}\n", i+rand.IntN(50)-25, rand.IntN(20), rand.Int64())
	}
	if err := os.WriteFile(input, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := childJob(input, output+".want", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Run(t.Context()), p.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	return input, output, readFile(t, output+".want")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkOutput compares the file, and looks for parts that nobody removed.
func checkOutput(t *testing.T, output, want string) {
	t.Helper()
	if d := cmp.Diff(want, readFile(t, output)); d != "" {
		t.Error("output differs:", d[:min(len(d), 2000)])
	}
	if left, _ := filepath.Glob(output + ".part-*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

// Processes are killed with SIGKILL at any moment; the file holds each row exactly once.
func TestFileIsExactlyOnceOverKilledProcesses(t *testing.T) {
	input, output, want := childFiles(t)
	from := ""
	for range 6 {
		c := startChild(t, input, output, from)
		final := c.follow(1 + rand.IntN(5))
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // chance, not synchronisation: die anywhere in a cut or a write
		c.signal(t, syscall.SIGKILL)
		_ = c.cmd.Wait() // it was killed
		from = c.cut
		checkCommitted(t, output, from, want)
		if final {
			break
		}
	}
	c := startChild(t, input, output, from)
	c.finish(t, true)
	checkOutput(t, output, want)
	checkCommitted(t, output, from, want)
	// A start from the last cut, as after a crash between its completion and the commit, changes nothing.
	again := startChild(t, input, output, c.cut)
	again.finish(t, true)
	checkOutput(t, output, want)
}

// checkCommitted reads what a stored cut says is committed: the head of the whole output.
func checkCommitted(t *testing.T, output, cut, want string) {
	t.Helper()
	var items map[string][]byte
	if err := json.Unmarshal([]byte(readFile(t, cut)), &items); err != nil {
		t.Fatal(err)
	}
	r, err := engine.OpenCommitted(output, items["file-1"])
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := bufio.NewReader(r).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(want, b.String()) {
		t.Error("committed rows are not the head of the output")
	}
}

// A paused process is replaced and wakes up: while the replacement works, or after it has ended, even believing that its own
// last cut was completed. It cannot harm the output.
func TestAPausedProcessCannotHarmTheOutputOfItsReplacement(t *testing.T) {
	for _, c := range []struct {
		name           string
		during, claims bool
	}{
		{"it wakes while the replacement works", true, false},
		{"it wakes while the replacement works, and claims completion", true, true},
		{"it wakes after the replacement has ended", false, false},
		{"it wakes after the replacement has ended, and claims completion", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			input, output, want := childFiles(t)
			old := startChild(t, input, output, "")
			if old.follow(3) {
				t.Skip("the child was too fast to be paused")
			}
			old.signal(t, syscall.SIGSTOP)
			replacement := startChild(t, input, output, old.cut)
			var wg sync.WaitGroup
			if c.during {
				replacement.follow(2)
				old.signal(t, syscall.SIGCONT)
				wg.Go(func() { replacement.finish(t, true) })
				old.finish(t, c.claims)
				wg.Wait()
			} else {
				replacement.finish(t, true)
				checkOutput(t, output, want)
				old.signal(t, syscall.SIGCONT)
				old.finish(t, c.claims)
			}
			checkOutput(t, output, want)
		})
	}
}
