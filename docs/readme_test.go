package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The program in the README is that of examples/wordcount, which is tested.
func TestTheReadmeShowsTheExampleAsItStands(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../examples/wordcount/main.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) == 0 {
		t.Fatal("the README shows no program")
	}
	for _, b := range blocks {
		if !strings.Contains(string(example), b[1]) {
			t.Errorf("this is not in examples/wordcount/main.go:\n%s", b[1])
		}
	}
}

// Every file that the documents link to is there. Code is left out: a generic call looks like a link.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for _, doc := range []string{"../README.md", "../CONTRIBUTING.md", "architecture.md", "benchmarks.md", "engine.md", "operations.md", "store-format.md", "wire-format.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Error(err)
			continue
		}
		dir := "."
		if strings.HasPrefix(doc, "../") {
			dir = ".."
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), "`"), -1) {
			if _, err := os.Stat(dir + "/" + m[1]); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}
