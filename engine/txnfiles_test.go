package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

func formatNumber(dst []byte, v int64) ([]byte, error) { return strconv.AppendInt(dst, v, 10), nil }

func txnFiles(dir string, attempt int64) *engine.TxnFiles[int64] {
	return &engine.TxnFiles[int64]{Dir: dir, Name: "n", Attempt: attempt, Format: formatNumber}
}

func committedText(t interface{ Fatal(...any) }, dir string) string {
	paths, err := engine.CommittedFiles(dir, "n")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

func filesOutput(t *testing.T) output {
	t.Helper()
	dir := t.TempDir()
	return output{
		attach: func(attempt int64, s engine.Stream[int64], f *faults) {
			engine.ToTwoPhase(s, faulty[string]{txnFiles(dir, attempt), f})
		},
		committed: func() (rows []int64) {
			for line := range strings.Lines(committedText(t, dir)) {
				n, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, n)
			}
			return rows
		},
	}
}

func TestFilesOfTransactionsAreExactlyOnce(t *testing.T) {
	checkPhases(t, filesOutput, engine.Adopt, 1)
}

// begin makes a transaction with one row in a run of its own.
func begin(t *testing.T, f *engine.TxnFiles[int64], known []string, row int64) string {
	t.Helper()
	err1 := f.Recover(t.Context(), known)
	txn, err2 := f.Begin(t.Context())
	err3 := f.Write(t.Context(), txn, []int64{row})
	if err := errors.Join(err1, err2, err3, f.PreCommit(t.Context(), txn)); err != nil {
		t.Fatal(err)
	}
	return txn
}

func TestALaterAttemptFencesEarlierOnesOff(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	for _, name := range []string{"n-000001-000001-000001", "n-1-1", ".nn.attempt-000009", "m-000007-000001"} { // of others
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not n\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := txnFiles(dir, 0)
	known, unknown := begin(t, first, nil, 1), ""
	if txn, err := first.Begin(ctx); err == nil {
		unknown = txn
	} else {
		t.Fatal(err)
	}
	second := txnFiles(dir, 0)
	own := begin(t, second, []string{known}, 2)
	_, err := first.Begin(ctx)
	for what, err := range map[string]error{
		"begin": err, "write": first.Write(ctx, known, []int64{9}), "pre-commit": first.PreCommit(ctx, unknown),
		"commit": first.Commit(ctx, unknown), "commit of what is the other's now": first.Commit(ctx, known),
		"recover": first.Recover(ctx, nil),
	} {
		if !errors.Is(err, engine.ErrFenced) {
			t.Error(what, err)
		}
	}
	if err := errors.Join(first.Abort(ctx, known), second.Commit(ctx, known), second.Commit(ctx, own), second.Commit(ctx, known)); err != nil {
		t.Fatal(err)
	}
	// An attempt that starts from nothing keeps what is committed; an old one finds what it would have done.
	third := txnFiles(dir, 0)
	if err := errors.Join(third.Recover(ctx, nil), first.Commit(ctx, known)); err != nil {
		t.Fatal(err)
	}
	if got := committedText(t, dir); got != "1\n2\n" {
		t.Errorf("%q", got)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".n.*"))
	if d := cmp.Diff([]string{filepath.Join(dir, ".n.attempt-000003")}, left); d != "" {
		t.Error(d)
	}
	// Numbers given by hand: a process that starts late, or again, is refused, even if the fence was removed.
	for _, fence := range []bool{true, false} {
		for _, attempt := range []int64{1, 2} {
			if err := txnFiles(dir, attempt).Recover(ctx, nil); !errors.Is(err, engine.ErrFenced) {
				t.Error(fence, attempt, err)
			}
		}
		if err := os.RemoveAll(left[0]); err != nil {
			t.Fatal(err)
		}
	}
	begin(t, txnFiles(dir, 12), nil, 3)
}

// A takeover that died half-way is taken to its end by the next attempt.
func TestATakeoverThatDiedIsFinished(t *testing.T) {
	dir := t.TempDir()
	known := begin(t, txnFiles(dir, 1), nil, 1)
	away := filepath.Join(dir, ".n.fenced-000001-000002")
	err := errors.Join(os.Mkdir(filepath.Join(dir, ".n.attempt-000002"), 0o700), os.Rename(filepath.Join(dir, ".n.attempt-000001"), away),
		os.WriteFile(filepath.Join(away, "n-000001-000002"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	f := txnFiles(dir, 3)
	if err := errors.Join(f.Recover(t.Context(), []string{known}), f.Commit(t.Context(), known)); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".n.*/*")); len(left) > 0 || committedText(t, dir) != "1\n" {
		t.Error(left, committedText(t, dir))
	}
}

func TestTxnFilesRefusals(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	for name, c := range map[string]struct {
		f     *engine.TxnFiles[int64]
		known []string
		want  error
	}{
		"no format":           {&engine.TxnFiles[int64]{Dir: dir, Name: "n"}, nil, engine.ErrNil},
		"no name":             {&engine.TxnFiles[int64]{Dir: dir, Format: formatNumber}, nil, engine.ErrName},
		"a name with a slash": {&engine.TxnFiles[int64]{Dir: dir, Name: "a/b", Format: formatNumber}, nil, engine.ErrName},
		"no directory":        {txnFiles(filepath.Join(dir, "none"), 0), nil, os.ErrNotExist},
		"a way out":           {txnFiles(dir, 0), []string{"n-../x"}, engine.ErrCorrupt},
		"of another output":   {txnFiles(dir, 0), []string{"m-000001-000001"}, engine.ErrCorrupt},
		"a lost file":         {txnFiles(dir, 0), []string{"n-000001-000001"}, engine.ErrLost},
	} {
		if err := c.f.Recover(ctx, c.known); !errors.Is(err, c.want) {
			t.Error(name, err)
		}
	}
	f := txnFiles(dir, 0)
	txn := begin(t, f, nil, 1)
	if err := os.Remove(filepath.Join(dir, ".n.attempt-000002", txn)); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(ctx, txn); !errors.Is(err, engine.ErrLost) || errors.Is(err, engine.ErrFenced) {
		t.Error(err)
	}
	if _, err := engine.CommittedFiles(filepath.Join(dir, "none"), "n"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	f.Format = func([]byte, int64) ([]byte, error) { return nil, errBoom }
	if err := f.Write(ctx, txn, []int64{1}); !errors.Is(err, errBoom) {
		t.Error(err)
	}
}
