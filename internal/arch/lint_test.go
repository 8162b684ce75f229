package arch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planted is one file of a throw-away module and what the linter must say about it.
type planted struct {
	path    string // inside the module
	imports string
	body    string // a line of code, empty for an import alone
	want    string // a part of the one message expected at this file, empty when it must be silent
}

// place is where the file goes: one that only imports gets a tree of its own, else the forbidden arrows together
// would be import cycles. The globs of depguard start with **, so the extra folder changes nothing for them.
func (p planted) place(i int) string {
	if p.body != "" {
		return p.path
	}
	return fmt.Sprintf("tree%d/%s", i, p.path)
}

const (
	redisClient = "github.com/redis/go-redis/v9"
	miniredis   = "github.com/alicebob/miniredis/v2"
	promauto    = "github.com/prometheus/client_golang/prometheus/promauto"
	testify     = "github.com/stretchr/testify"
	pkgErrors   = "github.com/pkg/errors"
)

// violations has one file at least for each entry of the depguard and forbidigo settings.
var violations = []planted{
	{path: "events/a.go", imports: "os", want: "list 'events'"},
	{path: "events/b.go", imports: "net", want: "list 'events'"},
	{path: "events/c.go", imports: redisClient, want: "list 'events'"},
	{path: "events/eventlog/a.go", imports: module + "/projection", want: "list 'eventlog'"},
	{path: "events/eventlog/b.go", imports: module + "/store", want: "list 'eventlog'"},
	{path: "events/eventlog/c.go", imports: module + "/engine", want: "list 'eventlog'"},
	{path: "events/eventlog/d.go", imports: module + "/coordinator", want: "list 'eventlog'"},
	{path: "events/eventlog/e.go", imports: module + "/worker", want: "list 'eventlog'"},
	{path: "projection/a.go", imports: "os", want: "list 'projection'"},
	{path: "projection/b.go", imports: "net/http", want: "list 'projection'"},
	{path: "projection/c.go", imports: module + "/events/eventlog", want: "list 'projection'"},
	{path: "projection/view/a.go", imports: module + "/store", want: "list 'projection'"},
	{path: "store/a.go", imports: module + "/projection", want: "list 'store'"},
	{path: "store/b.go", imports: module + "/events/eventlog", want: "list 'store'"},
	{path: "store/memory/a.go", imports: module + "/engine", want: "list 'store'"},
	{path: "store/redis/a.go", imports: module + "/coordinator", want: "list 'store'"},
	{path: "store/redis/b.go", imports: module + "/worker", want: "list 'store'"},
	{path: "engine/a.go", imports: module + "/events", want: "list 'engine'"},
	{path: "engine/b.go", imports: module + "/projection", want: "list 'engine'"},
	{path: "engine/window/a.go", imports: module + "/store", want: "list 'engine'"},
	{path: "engine/state/a.go", imports: module + "/coordinator", want: "list 'engine'"},
	{path: "engine/state/b.go", imports: module + "/worker", want: "list 'engine'"},
	{path: "coordinator/a.go", imports: module + "/engine", want: "list 'coordinator'"},
	{path: "coordinator/b.go", imports: module + "/worker", want: "list 'coordinator'"},
	{path: "worker/a.go", imports: module + "/projection", want: "list 'worker'"},
	{path: "worker/b.go", imports: module + "/coordinator", want: "list 'worker'"},
	{path: "coordinator/c.go", imports: redisClient, want: "list 'few-redis'"},
	{path: "store/memory/b.go", imports: redisClient, want: "list 'few-redis'"},
	{path: "job/a.go", imports: module + "/coordinator", want: "list 'job'"},
	{path: "worker/e.go", imports: module + "/job", want: "list 'libraries'"},
	{path: "coordinator/d.go", imports: module + "/internal/cli", want: "list 'libraries'"},
	{path: "worker/d.go", imports: module + "/internal/redisconn", want: "list 'libraries'"},
	{path: "store/redis/d.go", imports: module + "/internal/settings", want: "list 'libraries'"},
	{path: "events/eventlog/d2.go", imports: module + "/internal/target", want: "list 'libraries'"},
	{path: "worker/c.go", imports: miniredis, want: "list 'few-embedded'"},
	{path: "cmd/worker/a.go", imports: promauto, want: "list 'no-globals'"},
	{path: "internal/x/a.go", imports: pkgErrors, want: "list 'no-globals'"},
	{path: "internal/x/a_test.go", imports: testify, want: "list 'no-globals'"},

	{path: "events/t.go", imports: "time", body: "func now() time.Time { return time.Now() }", want: "time arrives"},
	{path: "projection/t.go", imports: "math/rand", body: "func roll() int { return rand.Int() }", want: "chance arrives"},
	{path: "projection/view/t.go", imports: "time", body: "func nap() { time.Sleep(1) }", want: "time arrives"},
	{path: "engine/t.go", imports: "context", body: "func root() any { return context.Background() }", want: "only main"},
	{path: "store/t.go", imports: "fmt", body: `func say() { fmt.Println("x") }`, want: "use the logger"},
}

// permitted are the neighbours of each rule: a glob that is too wide shows here.
var permitted = []planted{
	{path: "events/eventlog/ok.go", imports: redisClient},
	{path: "events/eventlog/ok2.go", imports: "os"},
	{path: "events/ok_test.go", imports: "os"},
	{path: "projection/ok.go", imports: module + "/events"},
	{path: "projection/view/ok.go", imports: module + "/projection"},
	{path: "store/ok.go", imports: module + "/events"},
	{path: "store/redis/ok.go", imports: redisClient},
	{path: "engine/ok.go", imports: module + "/engine/window"},
	{path: "engine/ok_test.go", imports: redisClient},
	{path: "coordinator/ok.go", imports: module + "/projection"},
	{path: "coordinator/ok2.go", imports: module + "/events/eventlog"},
	{path: "worker/ok.go", imports: module + "/engine"},
	{path: "worker/ok2.go", imports: module + "/store"},
	{path: "cmd/coordinator/ok.go", imports: redisClient},
	{path: "cmd/coordinator/ok2.go", imports: miniredis},
	{path: "cmd/coordinator/ok3.go", imports: module + "/worker"},
	{path: "cmd/worker/ok.go", imports: module + "/coordinator"},
	{path: "cmd/worker/ok2.go", imports: module + "/job"},
	{path: "examples/embed/ok2.go", imports: module + "/job"},
	{path: "job/ok.go", imports: redisClient},
	{path: "job/ok2.go", imports: module + "/internal/cli"},
	{path: "job/ok3.go", imports: module + "/worker"},
	{path: "internal/redisconn/ok.go", imports: redisClient},
	{path: "internal/testredis/ok.go", imports: redisClient},
	{path: "examples/embed/ok.go", imports: redisClient},
	{path: "coordinator/t.go", imports: "time", body: "func now() time.Time { return time.Now() }"},
	{path: "events/eventlog/t.go", imports: "time", body: "func now() time.Time { return time.Now() }"},
	{path: "cmd/worker/main.go", imports: "context", body: "func root() any { return context.Background() }"},
}

// TestLintRulesFire runs the real configuration over a module of stubs with one planted file per rule.
func TestLintRulesFire(t *testing.T) {
	lint := os.Getenv("TIDEMARK_LINT")
	if lint == "" {
		t.Skip("needs the linter; `make lint-check` runs this with it")
	}
	dir := plant(t)
	cmd := exec.CommandContext(t.Context(), lint, "run", "--enable-only=depguard,forbidigo", "--issues-exit-code=0",
		"--show-stats=false", "--output.json.path=stdout", "./...")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run %s: %v\n%s", lint, err, out)
	}
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Filename string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("read the report: %v\n%s", err, out)
	}
	said := map[string][]string{}
	for _, issue := range report.Issues {
		path := filepath.ToSlash(issue.Pos.Filename)
		said[path] = append(said[path], issue.FromLinter+": "+issue.Text)
	}
	for i, v := range violations {
		place := v.place(i)
		if got := strings.Join(said[place], "\n"); !strings.Contains(got, v.want) {
			t.Errorf("%s imports %s: the linter says %q, want a message with %q", v.path, v.imports, got, v.want)
		}
		delete(said, place)
	}
	for path, got := range said {
		t.Errorf("%s is allowed, but the linter says %q", path, got)
	}
}

// plant writes the module: stubs for all packages, our own and foreign, so that nothing is downloaded.
func plant(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(path, text string) {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(".golangci.yml", string(read(t, filepath.Join("..", "..", ".golangci.yml"))))
	gomod := "module " + module + "\n\ngo 1.26\n"
	for name, root := range map[string]string{
		redisClient: redisClient, miniredis: miniredis, testify: testify, pkgErrors: pkgErrors,
		promauto: "github.com/prometheus/client_golang",
	} {
		stub := "stubs/" + strings.ReplaceAll(root, "/", "_")
		put(stub+"/go.mod", "module "+root+"\n")
		put(stub+"/"+strings.TrimPrefix(name, root)+"/x.go", "package x\n")
		gomod += "require " + root + " v" + major(root) + ".0.0\nreplace " + root + " => ./" + stub + "\n"
	}
	put("go.mod", gomod)
	for i, p := range slices.Concat(violations, permitted) {
		if rel, ok := strings.CutPrefix(p.imports, module+"/"); ok {
			put(rel+"/doc.go", "package x\n")
		}
		as, use := "", p.body
		if use == "" {
			as = "_ "
		}
		put(p.place(i), "package x\n\nimport "+as+`"`+p.imports+"\"\n\n"+use+"\n")
	}
	return dir
}

// major is the number that a module path demands of its versions: 9 for ".../v9", 1 without such an ending.
func major(path string) string {
	if _, v, ok := strings.Cut(filepath.Base(path), "v"); ok && strings.Trim(v, "0123456789") == "" {
		return v
	}
	return "1"
}
