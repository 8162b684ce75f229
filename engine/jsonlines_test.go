package engine_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

type line struct {
	N int64 `json:"n"`
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s) // into memory
	_ = z.Close()
	return b.String()
}

func TestJSONLines(t *testing.T) {
	long := `{"n":5,"x":"` + strings.Repeat("y", 100_000) + `"}`
	for _, c := range []struct {
		name, text string
		want       []int64
		err        error
		says       string
	}{
		{name: "plain", text: "{\"n\":1}\n{\"n\":2}\n", want: []int64{1, 2}},
		{name: "no end of line at the end", text: "{\"n\":1}\n{\"n\":2}", want: []int64{1, 2}},
		{name: "blank lines and carriage returns", text: "\n{\"n\":1}\r\n\r\n  \n{\"n\":2}\n", want: []int64{1, 2}},
		{name: "empty", text: ""},
		{name: "integers of 64 bits", text: `{"n":9223372036854775807}`, want: []int64{9223372036854775807}},
		{name: "a line longer than the buffer", text: long + "\n{\"n\":6}\n", want: []int64{5, 6}},
		{name: "a line that is no JSON", text: "{\"n\":1}\n{\"n\":\n{\"n\":3}\n", want: []int64{1}, err: engine.ErrLine, says: "at record 2 of source-1 (offset 8)"},
		{name: "a line that is too long", text: "{\"n\":1}\n" + strings.Repeat(" ", 2<<20), want: []int64{1}, err: engine.ErrLine, says: "longer than 1048576"},
	} {
		for kind, text := range map[string]string{"plain": c.text, "gzip": zipped(c.text)} {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "in")
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[int64] {
					return engine.Map(engine.From(g, engine.JSONLines[line]{Path: path}), func(l line) int64 { return l.N })
				})
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
				if !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Error(err)
				}
			})
		}
	}
}

// Reading resumes behind any record, in either kind of file.
func TestJSONLinesSeeks(t *testing.T) {
	text := "{\"n\":1}\n\n  {\"n\":2}\n{\"n\":3}"
	for kind, text := range map[string]string{"plain": text, "gzip": zipped(text)} {
		path := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var rows engine.Rows[int64]
		var items map[string][]byte
		for fail := int64(1); fail <= 4; fail++ { // dies at each record in turn; the last attempt ends
			g := engine.New(engine.Config{})
			src := engine.From(g, engine.JSONLines[line]{Path: path})
			engine.ToRows(engine.TryMap(src, func(_ engine.Context, l line) (int64, error) {
				if l.N == fail {
					return 0, errBoom
				}
				return l.N, nil
			}), &rows)
			p := build(t, g)
			if items != nil {
				if err := p.Restore(t.Context(), items, engine.Adopt); err != nil {
					t.Fatal(err)
				}
			}
			err := p.Run(t.Context())
			if fail <= 3 != errors.Is(err, errBoom) {
				t.Fatal(err)
			}
			items = nil
			if fail <= 3 {
				items = cutAt(t, path, fail-1, &rows)
			}
		}
		if d := cmp.Diff([]int64{1, 2, 3}, rows.All()); d != "" {
			t.Error(kind, d)
		}
	}
	truncated := filepath.Join(t.TempDir(), "in")
	whole := zipped(strings.Repeat(text, 1000))
	if err := os.WriteFile(truncated, []byte(whole[:len(whole)/2]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[line] {
		return engine.From(g, engine.JSONLines[line]{Path: truncated})
	}); err == nil {
		t.Error("half a gzip file was read without an error")
	}
}

// cutAt gives the cut of a run that was cancelled after n records: the position by reading, the rows as they are.
func cutAt(t *testing.T, path string, n int64, rows *engine.Rows[int64]) map[string][]byte {
	t.Helper()
	var copied engine.Rows[int64]
	g := engine.New(engine.Config{Queue: 1})
	var p *engine.Pipeline
	var items map[string][]byte
	src := engine.From(g, engine.JSONLines[line]{Path: path})
	engine.ToRows(engine.TryMap(src, func(c engine.Context, l line) (int64, error) {
		if l.N <= n {
			return l.N, nil
		}
		s, err := p.Cut(c, n) // before this record
		if err != nil {
			return 0, err
		}
		items = encode(t, s)
		return 0, errBoom
	}), &copied)
	p = build(t, g)
	if err := p.Run(t.Context()); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	if d := cmp.Diff(copied.All(), rows.All()); d != "" {
		t.Fatal(d)
	}
	return items
}
