package engine_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// numbers is a job that writes the numbers to n to a file, and dies at record die (0: never).
func numbers(t *testing.T, path string, n, die int64) *engine.Pipeline {
	t.Helper()
	g := engine.New(engine.Config{})
	s := engine.TryMap(engine.From(g, counting(n)), func(_ engine.Context, v int64) (int64, error) {
		if die > 0 && v+1 == die {
			return 0, errBoom
		}
		return v, nil
	})
	engine.ToFile(s, path, func(dst []byte, v int64) ([]byte, error) { return strconv.AppendInt(dst, v, 10), nil })
	return build(t, g)
}

func lines(n int64) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.FormatInt(i, 10) + "\n")
	}
	return b.String()
}

func TestFileAppearsOnlyWhenACutAfterTheEndIsCompleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	p := numbers(t, path, 100_000, 0)
	early := encode(t, mustCut(t, p, 1))
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := encode(t, mustCut(t, p, 2))
	for _, notice := range []error{p.Completed(t.Context(), 1), p.Failed(t.Context(), 2)} {
		if notice != nil {
			t.Fatal(notice)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the file is there before a cut of all of it was completed:", err)
	}
	// The failed cut is part of the next one. Notices may come twice.
	encode(t, mustCut(t, p, 3))
	for range 2 {
		if err := p.Completed(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	if got := readFile(t, path); got != lines(100_000) {
		t.Errorf("%d bytes", len(got))
	}
	for item, want := range map[string]string{string(early["file-1"]): "", string(whole["file-1"]): lines(100_000)} {
		r, err := engine.OpenCommitted(path, []byte(item))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(got) != want {
			t.Error(len(got), err)
		}
	}
	// A pipeline that adopts the cut of the whole output finds it done.
	again := numbers(t, path, 100_000, 1)
	if err := again.Restore(t.Context(), whole, engine.Adopt); err != nil {
		t.Fatal(err)
	}
	if err := again.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFileSinkRefusals(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("of somebody else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := numbers(t, there, 3, 0).Run(t.Context()); !errors.Is(err, engine.ErrOutputExists) {
		t.Error("an output that exists:", err)
	}
	if err := numbers(t, filepath.Join(dir, "no", "out"), 3, 0).Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder that does not:", err)
	}
	// The output appears while the job runs: it is not overwritten.
	path := filepath.Join(dir, "late")
	p := numbers(t, path, 3, 0)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("0\n1\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(t.Context()); !errors.Is(err, engine.ErrOutputExists) {
		t.Error(err)
	}
	if got := readFile(t, path); got != "0\n1\n3\n" {
		t.Error("overwritten with", got)
	}
	g := engine.New(engine.Config{})
	engine.ToFile(engine.From(g, counting(1)), "", func(dst []byte, _ int64) ([]byte, error) { return dst, nil })
	engine.ToFile[int64](engine.From(g, counting(1)), "x", nil)
	if _, err := g.Build(); !errors.Is(err, engine.ErrInvalid) || !errors.Is(err, engine.ErrNil) {
		t.Error(err)
	}
}

// What was committed and is gone, or is not what it was, is an error and never a shorter output.
func TestLostPartsAreFound(t *testing.T) {
	for _, c := range []struct {
		name      string
		harm      func(part string) error
		atRestore bool
	}{
		{"a part is gone", os.Remove, true},
		{"a part is cut short", func(part string) error { return os.Truncate(part, 2) }, true},
		{"a part has other bytes", func(part string) error { return os.WriteFile(part, []byte("x\ny\nz\n"), 0o600) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			first := numbers(t, path, 3, 0)
			if err := first.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			items := encode(t, mustCut(t, first, 1))
			parts, _ := filepath.Glob(path + ".part-*")
			if len(parts) != 1 {
				t.Fatal(parts)
			}
			if err := c.harm(parts[0]); err != nil {
				t.Fatal(err)
			}
			p := numbers(t, path, 3, 0)
			err := p.Restore(t.Context(), items, engine.Adopt)
			if err == nil && !c.atRestore {
				err = p.Run(t.Context())
			}
			if !errors.Is(err, engine.ErrLost) {
				t.Error(err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("an output was made of it")
			}
		})
	}
}

// The parts are looked for beside the path that this run was given; a person who gave another must learn what is needed.
func TestALostPartOfAnotherPathIsExplained(t *testing.T) {
	first := numbers(t, filepath.Join(t.TempDir(), "out"), 3, 0)
	if err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	items := encode(t, mustCut(t, first, 1))
	err := numbers(t, filepath.Join(t.TempDir(), "out"), 3, 0).Restore(t.Context(), items, engine.Adopt)
	const hint = "was the output path changed? the part files of the last run are needed next to it"
	if !errors.Is(err, engine.ErrLost) || !strings.Contains(err.Error(), hint) {
		t.Error(err)
	}
}

// A disk that takes nothing ends the run, and fails the encoding of the cut; the cut itself does not wait for it.
func TestWriteErrorsEndTheRun(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), "out")
	g := engine.New(engine.Config{})
	var p *engine.Pipeline
	s := engine.TryMap(engine.From(g, counting(1_000_000)), func(_ engine.Context, v int64) (int64, error) {
		if v == 0 { // the part of this attempt becomes a device that is always full
			return v, replacePart(path)
		}
		return v, nil
	})
	engine.ToFile(s, path, func(dst []byte, v int64) ([]byte, error) { return strconv.AppendInt(dst, v, 10), nil })
	p = build(t, g)
	err := p.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "file-1: write out") {
		t.Error(err)
	}
	for _, i := range mustCut(t, p, 1).Items {
		if _, err := i.Encode(); (i.Name == "file-1") != (err != nil) {
			t.Error(i.Name, err)
		}
	}
}

// replacePart makes the open part of an attempt unwritable by pointing its descriptor at a device without space.
func replacePart(path string) error {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer full.Close() //nolint:errcheck // A device.
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, fd := range fds {
		target, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		if !strings.HasPrefix(target, path+".part-") {
			continue
		}
		n, err := strconv.Atoi(fd.Name())
		if err != nil {
			return err
		}
		return syscall.Dup3(int(full.Fd()), n, syscall.O_CLOEXEC)
	}
	return errors.New("no part is open")
}
