package engine

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CommittedFiles gives the paths of the files that [TxnFiles] has committed under a name in a directory, in the order in which
// their rows were written. It may be called at any time: no file in the list will ever change or be taken back, and what a
// later call finds begins with it.
func CommittedFiles(dir, name string) ([]string, error) {
	for before := []string(nil); ; {
		paths, err := committedFiles(dir, name)
		if err != nil {
			return nil, fmt.Errorf("list committed files of %s: %w", name, err)
		}
		// A listing beside commits may lack a file and have the one behind it; two that are equal may not.
		if before != nil && slices.Equal(before, paths) {
			return paths, nil
		}
		before = paths
	}
}

func committedFiles(dir, name string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type file struct {
		attempt, n int64
		path       string
	}
	var found []file
	for _, e := range list {
		if attempt, n := parseTxnFile(name, e.Name()); n > 0 {
			found = append(found, file{attempt, n, filepath.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(found, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.n, b.n))
	})
	paths := make([]string, len(found))
	for i, e := range found {
		paths[i] = e.path
	}
	return paths, nil
}

// parseTxnFile reads a file's name: attempt and number; zeros if it is not that of a transaction.
func parseTxnFile(name, file string) (attempt, n int64) {
	s, ok := strings.CutPrefix(file, name+"-")
	if !ok {
		return 0, 0
	}
	a, b, _ := strings.Cut(s, "-")
	if attempt, n = number(a), number(b); attempt == 0 || n == 0 {
		return 0, 0
	}
	return attempt, n
}

// number reads a positive number of six digits or more; anything else is 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || fmt.Sprintf("%06d", n) != s {
		return 0
	}
	return n
}
