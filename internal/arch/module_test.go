package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/tidemark-stream/tidemark"

// pkg is the part of `go list -json` that the tests here read.
type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	Imports      []string
	Deps         []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// rel is the path of the package inside the module: "store/redis", or "." for the root.
func (p pkg) rel() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// sources gives the paths of the package's files, tests apart from the rest.
func (p pkg) sources() (code, tests []string) {
	join := func(names []string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(p.Dir, name))
		}
		return paths
	}
	return join(p.GoFiles), join(slices.Concat(p.TestGoFiles, p.XTestGoFiles))
}

// listed asks the go command once per test binary: it takes about a second.
var listed = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Imports,Deps,GoFiles,TestGoFiles,XTestGoFiles",
		module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
})

// packages lists the module, and fails the test when there is nothing to look at.
func packages(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := listed()
	if err != nil {
		t.Fatalf("list the packages of the module: %v", err)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no package, so this test would prove nothing")
	}
	return pkgs
}

// under reports whether path is tree or lies in it.
func under(path, tree string) bool {
	return path == tree || strings.HasPrefix(path, tree+"/")
}

func underAny(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return under(path, tree) })
}
