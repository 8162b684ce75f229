package arch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxLines is the length at which a file holds more than one noun.
const maxLines = 400

func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && strings.TrimSpace(p.Doc) == "" {
			t.Errorf("%s has no package comment; write doc.go, no blank line above the package clause", p.rel())
		}
	}
}

func TestNoFileIsTooLong(t *testing.T) {
	for _, p := range packages(t) {
		code, _ := p.sources()
		for _, path := range code {
			src := read(t, path)
			if lines := bytes.Count(src, []byte("\n")); lines > maxLines && !generated(src) {
				t.Errorf("%s has %d lines, at most %d: is there more than one noun in it?", path, lines, maxLines)
			}
		}
	}
}

// generated tells by the first lines, as the go command does.
func generated(src []byte) bool {
	head, _, _ := bytes.Cut(src, []byte("\npackage "))
	return bytes.Contains(head, []byte("DO NOT EDIT."))
}

// maySleep lists the test files whose sleeps are not what they look like, with the reason. An entry that no longer
// covers a sleep fails the test.
var maySleep = map[string]string{
	"engine/child_test.go":    "a random moment at which a process is killed, waited for by nobody",
	"worker/leave_test.go":    "steps of a table that runs in a bubble",
	"worker/presence_test.go": "steps of a table that runs in a bubble",
	"worker/stage_test.go":    "a kit that is only used in bubbles",
}

func TestNoTestWaitsBySleeping(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		_, tests := p.sources()
		for _, path := range tests {
			places := sleeps(t, path, read(t, path))
			rel := filepath.ToSlash(filepath.Join(p.rel(), filepath.Base(path)))
			if _, ok := maySleep[rel]; ok {
				used[rel] = len(places) > 0
				continue
			}
			for _, at := range places {
				t.Errorf("%s: time.Sleep outside a synctest bubble is a race waiting to be found: "+
					"wait on a channel, or poll with a deadline", at)
			}
		}
	}
	for rel, why := range maySleep {
		if !used[rel] {
			t.Errorf("%s may sleep (%s), and does not: strike the entry", rel, why)
		}
	}
}

// sleeps gives the places of time.Sleep that no enclosing synctest.Test call covers. A helper that is only called
// from a bubble cannot be told from one that is not: let the caller sleep, or give it an entry in maySleep.
func sleeps(t *testing.T, path string, src []byte) (places []string) {
	t.Helper()
	if !bytes.Contains(src, []byte("time.Sleep")) {
		return nil // most files, and parsing all of them takes a second
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch {
		case calls(call, "synctest", "Test"):
			return false
		case calls(call, "time", "Sleep"):
			places = append(places, fset.Position(call.Pos()).String())
		}
		return true
	})
	return places
}

// calls reports whether the call is package.name(…), by the name the package is usually imported under.
func calls(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg && sel.Sel.Name == name
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestASleepInsideABubbleIsTold(t *testing.T) {
	const src = `package x
import ("testing"; "testing/synctest"; "time")
func TestA(t *testing.T) { synctest.Test(t, func(*testing.T) { time.Sleep(1) }) }
func TestB(t *testing.T) { time.Sleep(2) }
`
	got := sleeps(t, "x_test.go", []byte(src))
	if len(got) != 1 || !strings.HasPrefix(got[0], "x_test.go:4:") {
		t.Errorf("found sleeps at %v, want only the one in line 4", got)
	}
}
