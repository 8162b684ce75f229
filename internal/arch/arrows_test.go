package arch_test

import (
	"slices"
	"strings"
	"testing"
)

// ban forbids a package tree to reach another, with the reason that a failure prints.
type ban struct {
	from   string   // package tree inside the module
	except []string // trees below from that the ban leaves alone
	to     []string // package trees inside the module
	why    string
}

// bans are the arrows that must not be there. They hold for direct and indirect imports of code; tests may import
// what they like, as long as Go itself allows it.
var bans = []ban{
	{
		from: "events", except: []string{"events/eventlog"},
		to: []string{
			"events/eventlog", "projection", "store", "engine", "coordinator", "worker", "cmd", "internal",
		},
		why: "events is the vocabulary of all others and knows none of them",
	},
	{
		from: "events/eventlog",
		to:   []string{"projection", "store", "engine", "coordinator", "worker", "cmd"},
		why:  "the log carries events and folds nothing",
	},
	{
		from: "projection",
		to:   []string{"events/eventlog", "store", "engine", "coordinator", "worker", "cmd", "internal"},
		why:  "same log, same state: the fold is a pure function of events",
	},
	{
		from: "store",
		to:   []string{"projection", "events/eventlog", "engine", "coordinator", "worker", "cmd"},
		why:  "store keeps bytes and folds nothing",
	},
	{
		from: "engine",
		to:   []string{"events", "projection", "store", "coordinator", "worker", "cmd", "internal"},
		why:  "engine is usable without the service and imports nothing of ours",
	},
	{
		from: "coordinator",
		to:   []string{"engine", "worker", "cmd"},
		why:  "the coordinator knows tasks and runs no streams; it meets workers on the log alone",
	},
	{
		from: "worker",
		to:   []string{"projection", "coordinator", "cmd"},
		why:  "a worker is told the outcome by the control feed; it folds nothing",
	},
	{
		from: "job",
		to:   []string{"coordinator", "cmd"},
		why:  "a job and its coordinator meet on the log alone",
	},
}

// ours picks the packages of this module, by their path inside it.
func ours(paths []string) (rels []string) {
	for _, path := range paths {
		if rel, ok := strings.CutPrefix(path, module+"/"); ok {
			rels = append(rels, rel)
		}
	}
	return rels
}

func TestNoPackageReachesAgainstTheArrows(t *testing.T) {
	for _, p := range packages(t) {
		for _, b := range bans {
			if !under(p.rel(), b.from) || underAny(p.rel(), b.except) {
				continue
			}
			for _, dep := range ours(p.Deps) {
				if underAny(dep, b.to) {
					t.Errorf("%s reaches %s: %s", p.rel(), dep, b.why)
				}
			}
		}
	}
}

// pure trees import the standard library, the named trees of ours, and nothing that reaches outside the process:
// the answer of the fold must not depend on the machine or the hour.
var pure = map[string][]string{
	"events":     {"events"},
	"projection": {"events", "projection"},
}

var impure = []string{"os", "net", "syscall", "math/rand", "crypto/rand", "log", "os/exec"}

func TestPurePackagesImportOnlyPureOnes(t *testing.T) {
	for _, p := range packages(t) {
		tree, _, _ := strings.Cut(p.rel(), "/")
		allowed, ok := pure[tree]
		if !ok || under(p.rel(), "events/eventlog") {
			continue
		}
		for _, path := range p.Imports {
			rel, isOurs := strings.CutPrefix(path, module+"/")
			switch {
			case isOurs && !underAny(rel, allowed), !isOurs && !standard(path):
				t.Errorf("%s imports %s: only the standard library and %v are allowed", p.rel(), path, allowed)
			case underAny(path, impure):
				t.Errorf("%s imports %s: same log, same state, on any machine, at any hour", p.rel(), path)
			}
		}
	}
}

// standard tells the standard library by the missing dot in the first element of the path.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// speaksRedis are the only trees that import a Redis client, or the embedded server.
var speaksRedis = []string{
	"events/eventlog", "store/redis", "job", "cmd", "examples", "internal/redisconn", "internal/target", "internal/testredis",
}

func TestOnlyTheEdgeSpeaksRedis(t *testing.T) {
	for _, p := range packages(t) {
		if underAny(p.rel(), speaksRedis) {
			continue
		}
		for _, path := range p.Imports {
			if under(path, "github.com/redis/go-redis") || under(path, "github.com/alicebob/miniredis") {
				t.Errorf("%s imports %s: only %v speak Redis", p.rel(), path, speaksRedis)
			}
		}
	}
}

// wiring is what programs are made of beside the libraries, and programs are the trees that may reach it. A job is a program
// as a value.
var (
	wiring   = []string{"job", "internal/cli", "internal/redisconn", "internal/settings", "internal/target"}
	programs = []string{"job", "cmd", "examples", "internal"}
)

func TestNoLibraryReachesTheWiringOfPrograms(t *testing.T) {
	for _, p := range packages(t) {
		if underAny(p.rel(), programs) {
			continue
		}
		for _, dep := range ours(p.Deps) {
			if underAny(dep, wiring) {
				t.Errorf("%s reaches %s: programs are wired from libraries, never the other way", p.rel(), dep)
			}
		}
	}
}

// TestBansNameRealTrees fails when a package is renamed and a ban goes on guarding the old name, once the module is
// whole; before that there is nothing to rename.
func TestBansNameRealTrees(t *testing.T) {
	var rels []string
	for _, p := range packages(t) {
		rels = append(rels, p.rel())
	}
	if !slices.Contains(rels, "cmd/coordinator") {
		t.Skip("cmd/coordinator is not there yet")
	}
	for _, b := range bans {
		for _, tree := range append(b.to, b.from) {
			if !slices.ContainsFunc(rels, func(rel string) bool { return under(rel, tree) }) {
				t.Errorf("a ban speaks of %s, and there is no such package", tree)
			}
		}
	}
}
