package engine_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/engine"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(childMain())
	}
	if os.Getenv(txnChildEnv) != "" {
		os.Exit(txnChildMain())
	}
	goleak.VerifyTestMain(m)
}

// build fails the test if the graph has a mistake.
func build(t interface{ Fatal(...any) }, g *engine.Graph) *engine.Pipeline {
	p, err := g.Build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// collect runs a stream that was made from a fresh graph and returns its rows.
func collect[T any](t *testing.T, stream func(g *engine.Graph) engine.Stream[T]) []T {
	t.Helper()
	rows, err := tryCollect(t.Context(), t, stream)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func tryCollect[T any](ctx context.Context, t *testing.T, stream func(g *engine.Graph) engine.Stream[T]) ([]T, error) {
	t.Helper()
	g := engine.New(engine.Config{})
	var rows engine.Rows[T]
	engine.ToRows(stream(g), &rows)
	err := build(t, g).Run(ctx)
	return rows.All(), err
}

// encode gives the items of a snapshot as the store of a worker would hold them.
func encode(t interface{ Fatal(...any) }, s *engine.Snapshot) map[string][]byte {
	m := make(map[string][]byte)
	for _, i := range s.Items {
		b, err := i.Encode()
		if err != nil {
			t.Fatal(err)
		}
		m[i.Name] = b
	}
	return m
}

func mustCut(t *testing.T, p *engine.Pipeline, id int64) *engine.Snapshot {
	t.Helper()
	s, err := p.Cut(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// panicPlace is what an error says of where a panic was.
var panicPlace = regexp.MustCompile(` \([a-z_]+\.go:[0-9]+\)`)

// placeless is the text of an error without the places of panics.
func placeless(err error) string { return panicPlace.ReplaceAllString(err.Error(), "") }
