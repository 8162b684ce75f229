package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/examples/flights"
)

const (
	patience = 60 * time.Second // of a test for anything to happen; the machine may be busy
	workers  = 3
)

// job is one job on one Redis, with a folder for its output.
type job struct {
	t   *testing.T
	dir string
	env []string
}

// newJob returns a job whose programs are told about Redis by their environment.
func newJob(t *testing.T, url string) *job {
	t.Helper()
	j := &job{t: t, dir: t.TempDir()}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TIDEMARK_") && !strings.HasPrefix(v, "REDIS_URL=") {
			j.env = append(j.env, v)
		}
	}
	// A program under the race detector waits for a second before it ends, unless told otherwise.
	// What a killed worker leaves goes with the folder of the test.
	j.env = append(j.env, "GORACE=atexit_sleep_ms=0", "TMPDIR="+j.dir, "TIDEMARK_JOB=e2e", "TIDEMARK_REDIS="+url)
	return j
}

// with returns the same job with more environment.
func (j *job) with(env ...string) *job {
	c := *j
	c.env = append(append([]string{}, j.env...), env...)
	return &c
}

// process is a program that runs.
type process struct {
	t        *testing.T
	name     string
	cmd      *exec.Cmd
	out, err *output
	done     chan struct{} // closed by the goroutine that waits for its end
	code     int           // read after done; 128 + n when a signal ended it
}

// start starts a program: "coordinator" or "worker". It is killed when the test ends.
func (j *job) start(program string, args ...string) *process {
	j.t.Helper()
	dir, err := binaries()
	if err != nil {
		j.t.Fatal(err)
	}
	p := &process{t: j.t, name: program + " " + strings.Join(args, " "), out: &output{}, err: &output{}, done: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(dir, program), args...) //nolint:noctx // ended by its test
	p.cmd.Env, p.cmd.Dir = j.env, j.dir
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	if err := p.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	go func() { // joined through done
		defer close(p.done)
		var exit *exec.ExitError
		if err := p.cmd.Wait(); errors.As(err, &exit) {
			if p.code = exit.ExitCode(); p.code < 0 {
				p.code = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
			}
		}
	}()
	j.t.Cleanup(func() {
		p.kill()
		if j.t.Failed() {
			j.t.Logf("%s\nstdout: %s\nstderr: %s", p.name, tail(p.out.String()), tail(p.err.String()))
		}
		for _, text := range []string{p.out.String(), p.err.String()} {
			if strings.Contains(text, "\x1b") {
				j.t.Errorf("%s wrote an escape code into a pipe: %q", p.name, tail(text))
			}
			if strings.Contains(text, "DATA RACE") {
				j.t.Errorf("%s: %s", p.name, text)
			}
		}
	})
	return p
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// signal sends a signal. After SIGSTOP it returns when every thread has stopped, which on a busy machine takes a moment: until then
// the process may still do what a test believes it cannot.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %v to %s: %v", s, p.name, err)
	}
	if s == syscall.SIGSTOP {
		await(p.t, p.name+" to stop", p.stopped)
	}
}

// stopped says whether every thread of the process has stopped, where the system tells.
func (p *process) stopped() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		return true
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		_, state, _ := strings.Cut(string(stat), ") ") // the name before may have anything in it
		if err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended within %s", p.name, patience)
	}
	return p.code
}

// logged waits until standard error holds the text.
func (p *process) logged(text string) {
	p.t.Helper()
	await(p.t, p.name+" says "+text, func() bool { return strings.Contains(p.err.String(), text) })
}

// result is how a program ended and what it wrote.
type result struct {
	code     int
	out, err string
}

// run runs a verb of the coordinator to its end.
func (j *job) run(args ...string) result {
	j.t.Helper()
	p := j.start("coordinator", args...)
	code := p.wait()
	return result{code, p.out.String(), p.err.String()}
}

// must runs a verb that must end with 0, and returns what it printed.
func (j *job) must(args ...string) string {
	j.t.Helper()
	r := j.run(args...)
	if r.code != 0 {
		j.t.Fatalf("coordinator %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// refused runs a verb that must end with the code and say every one of the texts.
func (j *job) refused(code int, args []string, texts ...string) result {
	j.t.Helper()
	r := j.run(args...)
	if r.code != code {
		j.t.Errorf("coordinator %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			j.t.Errorf("coordinator %s: %q is not in\n%s%s", strings.Join(args, " "), text, r.out, r.err)
		}
	}
	return r
}

// decode reads what a verb printed with -o json.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func (j *job) serve(args ...string) *process {
	return j.start("coordinator", append([]string{"serve", "--tasks", "3", "--lease-ttl", "2s", "--presence-ttl", "20s"}, args...)...)
}

// work starts the three workers.
func (j *job) work(rate string) (all []*process) {
	for i := range workers {
		all = append(all, j.start("worker", "run", "--task", string(rune('1'+i))+"/3", "--rate", rate, "--output", j.dir+"/"))
	}
	return all
}

// check compares the output with the right answer.
func (j *job) check() {
	j.t.Helper()
	files, err := filepath.Glob(filepath.Join(j.dir, "task-*.jsonl"))
	if err != nil || len(files) != workers {
		j.t.Fatalf("output files %v, %v", files, err)
	}
	rows, err := flights.ReadRows(files...)
	if err == nil {
		err = flights.Check(rows)
	}
	if err != nil {
		j.t.Error(err)
	}
}

// await polls until the condition holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s for %s in vain", what, patience)
		}
	}
}

// output is a buffer that may be read while a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
