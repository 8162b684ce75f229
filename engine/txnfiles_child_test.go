package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// With txnChildEnv set to "dir attempt restore-from", the test binary is one attempt of a job that writes numbers to transactional
// files. It prints "acked <id> <file>" for each cut that it has stored, and waits for a line on stdin: "completed", or anything
// else for a failed checkpoint. After the end of the input it stops at the first that is completed.
const txnChildEnv = "TIDEMARK_ENGINE_TEST_TXN_CHILD"

const txnRows = 6000

func txnChildMain() int {
	f := strings.Fields(os.Getenv(txnChildEnv))
	attempt, err := strconv.ParseInt(f[1], 10, 64)
	if err == nil {
		err = runTxnChild(context.Background(), f[0], attempt, f[2])
	}
	if err != nil {
		fmt.Println("ended", err)
		return 1
	}
	return 0
}

func runTxnChild(ctx context.Context, dir string, attempt int64, from string) error {
	g := engine.New(engine.Config{Queue: 32})
	engine.ToTwoPhase(engine.From(g, engine.Throttle(counting(txnRows), 20_000)), txnFiles(dir, attempt))
	p, err := g.Build()
	if err != nil {
		return err
	}
	if from != "-" {
		if err := errors.Join(restoreFile(ctx, p, from), p.Completed(ctx, -1)); err != nil {
			return err
		}
	}
	ended := make(chan error, 1) // one send, by the goroutine below, which ends with it
	go func() { ended <- p.Run(ctx) }()
	verdicts := bufio.NewReader(os.Stdin)
	for id, last := int64(1), false; ; id++ {
		select {
		case err := <-ended:
			if last = true; err != nil {
				return err
			}
		default:
		}
		completed, err := txnCheckpoint(ctx, p, dir, id, verdicts)
		if err != nil || last && completed {
			return err
		}
	}
}

// txnCheckpoint stores a cut, and does what it is told about it.
func txnCheckpoint(ctx context.Context, p *engine.Pipeline, dir string, id int64, verdicts *bufio.Reader) (bool, error) {
	if err := storeCut(ctx, p, filepath.Join(dir, "out"), "acked", id); err != nil {
		return false, err
	}
	verdict, err := verdicts.ReadString('\n')
	if err != nil {
		return false, err
	}
	if verdict != "completed\n" {
		return false, p.Failed(ctx, id)
	}
	return true, p.Completed(ctx, id)
}

// txnJob is the job's coordinator.
type txnJob struct {
	t        *testing.T
	dir      string
	attempts int
	newest   string // completed checkpoint
}

func newTxnJob(t *testing.T) *txnJob {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cuts"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &txnJob{t: t, dir: dir, newest: "-"}
}

func (j *txnJob) start() *child {
	j.attempts++
	return spawn(j.t, fmt.Sprintf("%s=%s %d %s", txnChildEnv, j.dir, j.attempts, j.newest))
}

// answer gives verdicts on the next n cuts of a child, of which chance lets some fail, and says whether it has ended. The last
// one may count without the child's ever hearing of it.
func (j *txnJob) answer(c *child, n int, tellLast bool) (ended bool) {
	for ; n > 0; n-- {
		if !c.lines.Scan() {
			return true
		}
		verb, path, _ := strings.Cut(c.lines.Text(), " ")
		if verb != "acked" {
			j.t.Fatal(c.lines.Text())
		}
		verdict := "completed"
		if rand.IntN(4) == 0 {
			verdict = "failed"
		} else {
			j.newest = path
		}
		if n > 1 || tellLast {
			_ = c.tell(verdict) // it may have ended
		}
	}
	return false
}

// check compares what was committed with the input.
func (j *txnJob) check() {
	j.t.Helper()
	if got, want := committedText(j.t, j.dir), lines(txnRows); got != want {
		j.t.Errorf("%d bytes are committed, not %d, or not the same", len(got), len(want))
	}
	if left, _ := filepath.Glob(filepath.Join(j.dir, ".n.*/*")); len(left) > 0 {
		j.t.Error("left behind:", left)
	}
}

// Processes are killed with SIGKILL at any moment, also between a verdict and its commit: each row is committed once.
func TestTransactionsAreExactlyOnceOverKilledProcesses(t *testing.T) {
	j := newTxnJob(t)
	for range 6 {
		c := j.start()
		ended := j.answer(c, 1+rand.IntN(12), rand.IntN(2) == 0)
		c.signal(t, syscall.SIGKILL)
		_ = c.cmd.Wait() // it was killed
		if text := committedText(t, j.dir); !strings.HasPrefix(lines(txnRows), text) {
			t.Fatal("committed rows are not the head of the input")
		}
		if ended {
			break
		}
	}
	c := j.start()
	for !j.answer(c, 1, true) {
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	j.check()
}

// A paused process is replaced and wakes up, while its replacement works or after that, and is even told that each of its
// checkpoints was completed. Nothing that it does counts, and it learns that it has been replaced.
func TestAPausedProcessCannotHarmTheTransactionsOfItsReplacement(t *testing.T) {
	for _, during := range []bool{true, false} {
		t.Run(fmt.Sprint("it wakes while the replacement works: ", during), func(t *testing.T) {
			j := newTxnJob(t)
			old := j.start()
			if j.answer(old, 4, rand.IntN(2) == 0) {
				t.Fatal("the child was too fast to be paused")
			}
			old.signal(t, syscall.SIGSTOP)
			replacement := j.start()
			end := func() {
				for !j.answer(replacement, 1, true) {
				}
				if err := replacement.cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
			var wg sync.WaitGroup
			if during {
				j.answer(replacement, 2, true)
				wg.Go(end)
			} else {
				end()
			}
			old.signal(t, syscall.SIGCONT)
			_ = old.tell("completed") // to a cut that may have been answered before the pause
			said := ""
			for old.lines.Scan() {
				said = old.lines.Text()
				_ = old.tell("completed") // it may have ended
			}
			if err := old.cmd.Wait(); err == nil || !strings.HasPrefix(said, "ended") {
				t.Error("the old process was not stopped:", said, err)
			}
			wg.Wait()
			j.check()
		})
	}
}
