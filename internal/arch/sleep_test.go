package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maySleep lists the test files that sleep in real time for another reason than to wait for something. An entry that
// no longer covers a sleep fails the test.
var maySleep = map[string]string{
	"coordinator/mortal_test.go": "lets virtual time pass, on the branch that real Redis does not take",
	"engine/child_test.go":       "a random moment at which a process is killed, waited for by nobody",
}

func TestNoTestWaitsBySleeping(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		_, paths := p.sources()
		files := map[string]string{}
		for _, path := range paths {
			files[filepath.ToSlash(filepath.Join(p.rel(), filepath.Base(path)))] = string(read(t, path))
		}
		for _, at := range realSleeps(t, files) {
			if _, ok := maySleep[at.Filename]; ok {
				used[at.Filename] = true
				continue
			}
			t.Errorf("%s: time.Sleep outside a synctest bubble is a race waiting to be found: "+
				"wait on a channel, or poll with a deadline", at)
		}
	}
	for file, why := range maySleep {
		if !used[file] {
			t.Errorf("%s may sleep (%s), and does not: strike the entry", file, why)
		}
	}
}

// use is one place in a test file that names something.
type use struct {
	at     token.Position
	name   string // of the identifier
	in     string // the top-level function around it
	bubble bool   // a call that runs a bubble is around it, or stands beside the function literal around it
}

// realSleeps finds the sleeps of a package's tests that may run outside a bubble. It goes by names alone: a function
// that hands over to synctest.Test runs bubbles too, a literal in a function that runs a bubble belongs to it (table
// tests), and a helper that is named from bubbles only is in them.
func realSleeps(t *testing.T, files map[string]string) (places []token.Position) {
	t.Helper()
	fset, runners := token.NewFileSet(), []string{"synctest"}
	var decls []*ast.FuncDecl
	for name, src := range files {
		file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse %s: %v", name, err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				decls = append(decls, f)
			}
		}
	}
	for _, f := range decls {
		if !entry(f.Name.Name) && runsBubble(f, runners[:1]) {
			runners = append(runners, f.Name.Name)
		}
	}
	var uses []use
	for _, f := range decls {
		uses = append(uses, usesIn(fset, f, runners)...)
	}
	for _, u := range uses {
		if u.name == "time.Sleep" && !virtual(u, uses, nil) {
			places = append(places, u.at)
		}
	}
	slices.SortFunc(places, func(a, b token.Position) int { return strings.Compare(a.String(), b.String()) })
	return places
}

// virtual reports whether a use runs in a bubble only, directly or because all uses of the helper around it do.
func virtual(u use, uses []use, seen []string) bool {
	if u.bubble || slices.Contains(seen, u.in) {
		return true
	}
	if entry(u.in) {
		return false
	}
	callers := 0
	for _, c := range uses {
		if c.name != u.in {
			continue
		}
		if callers++; !virtual(c, uses, append(seen, u.in)) {
			return false
		}
	}
	return callers > 0
}

// entry tells the functions that the test binary calls by itself.
func entry(name string) bool {
	return name == "init" || slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}

// runsBubble reports whether a call of a runner is in the function.
func runsBubble(n ast.Node, runners []string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && isRunner(call, runners)
		return !found
	})
	return found
}

func isRunner(call *ast.CallExpr, runners []string) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return slices.Contains(runners[1:], fun.Name)
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		return ok && x.Name == runners[0] && fun.Sel.Name == "Test" || slices.Contains(runners[1:], fun.Sel.Name)
	}
	return false
}

// usesIn lists the names in a function's body, each with whether a bubble is around it.
func usesIn(fset *token.FileSet, f *ast.FuncDecl, runners []string) (uses []use) {
	if f.Body == nil {
		return nil
	}
	bubbles := runsBubble(f, runners)
	var visit func(n ast.Node, inside bool)
	visit = func(root ast.Node, inside bool) {
		ast.Inspect(root, func(n ast.Node) bool {
			add := func(name string) {
				uses = append(uses, use{fset.Position(n.Pos()), name, f.Name.Name, inside})
			}
			switch n := n.(type) {
			case *ast.CallExpr:
				if n != root && !inside && isRunner(n, runners) {
					visit(n, true)
					return false
				}
			case *ast.FuncLit:
				if n != root && !inside && bubbles {
					visit(n, true)
					return false
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" {
					add("time.Sleep")
					return false
				}
			case *ast.Ident:
				add(n.Name)
			}
			return true
		})
	}
	visit(f.Body, false)
	return uses
}

func TestASleepInsideABubbleIsTold(t *testing.T) {
	const head = "package x\nimport (\"testing\"; \"testing/synctest\"; \"time\")\n"
	files := map[string]string{
		"a_test.go": head + `
func TestDirectly(t *testing.T) { synctest.Test(t, func(*testing.T) { time.Sleep(1) }) }
func TestNot(t *testing.T) { time.Sleep(1) } // line 5
func bubble(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }
func TestByAWrapper(t *testing.T) { bubble(t, func(*testing.T) { nap() }) }
func nap() { time.Sleep(1) }
func real() { time.Sleep(1) } // line 9
func TestBesideOne(t *testing.T) { bubble(t, func(*testing.T) { deeper() }); time.Sleep(1); real() } // line 10
`,
		"b_test.go": head + `
func deeper() { nap(); deeper() }
func TestTable(t *testing.T) {
	for _, f := range []func(){ func() { time.Sleep(1) } } { bubble(t, func(*testing.T) { f() }) }
}
func TestInALiteral(t *testing.T) { t.Run("x", func(*testing.T) { time.Sleep(1) }) } // line 8
func unused() { time.Sleep(1) } // line 9
`,
	}
	var got []string
	for _, at := range realSleeps(t, files) {
		at.Column = 0
		got = append(got, at.String())
	}
	want := []string{"a_test.go:10", "a_test.go:5", "a_test.go:9", "b_test.go:8", "b_test.go:9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sleeps outside a bubble (-want +got):\n%s", diff)
	}
}
