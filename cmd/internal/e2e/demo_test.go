package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

const right = "all 6 901 rows and 20 000 flights equal the known right answer"

// demo starts the demo with a folder of its own for temporary files, and returns that too.
func demo(t *testing.T, env []string, args ...string) (p *process, tmp string) {
	t.Helper()
	tmp = t.TempDir()
	j := newJob(t, away).with(append(env, "TMPDIR="+tmp)...)
	return j.start("coordinator", append([]string{"demo"}, args...)...), tmp
}

// gone checks that a demo left neither a process nor a folder. Its processes have the folder in their environment.
func gone(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
	if all := children(t, tmp); len(all) > 0 {
		t.Errorf("processes left: %v", all)
	}
}

// children are the command lines of the processes whose folder for temporary files this is, by process id.
func children(t *testing.T, tmp string) map[int]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skipped, looks into /proc")
	}
	found := map[int]string{}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		dir := filepath.Dir(f)
		env, err1 := os.ReadFile(f)
		line, err2 := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err1 != nil || err2 != nil || !strings.Contains(string(env), "TMPDIR="+tmp+"\x00") {
			continue // not ours, or ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
	}
	return found
}

func TestTheDemoOnItsOwnRedis(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		testredis.Start(t) // skips or fails
	}
	p, tmp := demo(t, nil)
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), right) || !strings.Contains(p.out.String(), "redis-server ") {
		t.Errorf("exit code %d", code)
	}
	gone(t, tmp)
}

func TestTheDemoOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	p, tmp := demo(t, []string{"PATH=/nowhere"})
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), right) || !strings.Contains(p.out.String(), "embedded") {
		t.Errorf("exit code %d", code)
	}
	gone(t, tmp)
}

func TestTwoDemosOnOneRedisAtOnce(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	a, tmpA := demo(t, nil, "--redis", s.URL())
	b, tmpB := demo(t, []string{"GOMAXPROCS=1"}, "--redis", s.URL())
	for _, p := range []*process{a, b} {
		if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), right) {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(p.out.String(), "{demo-") {
			t.Error("it does not say under which name its keys are")
		}
	}
	gone(t, tmpA)
	gone(t, tmpB)
	if n := s.Client(t).DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys left", n)
	}
}

func TestAnInterruptedDemoLeavesNothing(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	for name, c := range map[string]struct{ env, args []string }{
		"own redis": {}, "embedded": {env: []string{"PATH=/nowhere"}}, "yours": {args: []string{"--redis", s.URL()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tmp := demo(t, c.env, c.args...)
			await(t, "the first crash", func() bool { return strings.Contains(p.out.String(), "kill -9: worker") || p.ended() })
			p.signal(syscall.SIGINT)
			if code := p.wait(); code != 1 || !strings.Contains(p.err.String(), "ended by signal interrupt") {
				t.Errorf("exit code %d", code)
			}
			gone(t, tmp)
			if n := s.Client(t).DBSize(t.Context()).Val(); name == "yours" && n != 0 {
				t.Errorf("%d keys left", n)
			}
		})
	}
}

func TestADemoWhoseChildDiesSaysWhichAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"worker-1", "coordinator"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			p, tmp := demo(t, []string{"PATH=/nowhere"})
			await(t, "the first checkpoint", func() bool { return strings.Contains(p.out.String(), "completed") || p.ended() })
			kill(t, tmp, victim)
			if code := p.wait(); code != 1 || !strings.Contains(p.err.String(), victim+" ended before its time") ||
				!strings.Contains(p.err.String(), victim+" said last:") {
				t.Errorf("exit code %d", code)
			}
			gone(t, tmp)
		})
	}
}

// kill kills a child of the demo, told by what stands on its command line.
func kill(t *testing.T, tmp, victim string) {
	t.Helper()
	mark := " serve "
	if n, ok := strings.CutPrefix(victim, "worker-"); ok {
		mark = " --task " + n + "/3 "
	}
	for pid, line := range children(t, tmp) {
		if !strings.Contains(line, mark) {
			continue
		}
		child, err := os.FindProcess(pid)
		if err == nil {
			err = child.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("found no %s among %v", victim, children(t, tmp))
}

func TestADemoThatIsKeptGoesOn(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	p, tmp := demo(t, nil, "--redis", s.URL(), "--keep")
	await(t, "the end of the story", func() bool { return strings.Contains(p.out.String(), "Ctrl-C ends it") || p.ended() })
	_, rest, _ := strings.Cut(p.out.String(), "under {")
	name, _, _ := strings.Cut(rest, "}")
	if out := newJob(t, s.URL()).must("health", "--job", name); !strings.Contains(out, "leads") {
		t.Errorf("health of the kept coordinator: %s", out)
	}
	for _, says := range []string{" list --status failed ", " show ", " log --ended ", " forget "} {
		if !strings.Contains(p.out.String(), says) {
			t.Errorf("%q is not among what to try", says)
		}
	}
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "is removed") {
		t.Errorf("exit code %d", code)
	}
	gone(t, tmp)
	newJob(t, s.URL()).must("forget", "--yes", "--force", "--job", name)
	if n := s.Client(t).DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys left", n)
	}
}
