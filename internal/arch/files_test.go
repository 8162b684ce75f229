package arch_test

import (
	"bytes"
	"os"
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

func read(t *testing.T, path string) []byte {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
