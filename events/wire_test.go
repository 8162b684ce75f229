package events_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/events"
)

// The files in testdata/wire/v1 are what some version of this package has written, and what every later one must read
// and write alike. They are only ever added: a file that stands there is never changed, renamed or removed. For a new
// member, add <kind>.<what it shows>.json by hand; for a new kind, <kind>.minimal.json with nothing but what is always
// written, and <kind>.full.json with every member. One payload a file, and a newline.
const wireFolder = "testdata/wire/v1"

func wireFiles(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(wireFolder, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no wire files: %v", err)
	}
	files := make(map[string][]byte, len(paths))
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = bytes.TrimSuffix(b, []byte("\n"))
	}
	return files
}

func TestFrozenWireFilesDecodeAndEncodeToTheSameBytes(t *testing.T) {
	for name, want := range wireFiles(t) {
		t.Run(name, func(t *testing.T) {
			e, err := events.Decode("e-1", want)
			if err != nil {
				t.Fatal(err)
			}
			if kind, _, _ := strings.Cut(name, "."); string(e.Kind()) != kind {
				t.Errorf("holds a %s", e.Kind())
			}
			got, err := e.Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("encodes to\n%s\nnot\n%s", got, want)
			}
		})
	}
}

func TestEveryKindHasFrozenWireFiles(t *testing.T) {
	files := wireFiles(t)
	for _, k := range events.Kinds() {
		for _, what := range []string{".minimal.json", ".full.json"} {
			if files[string(k)+what] == nil {
				t.Errorf("%s has no %s%s in %s", k, k, what, wireFolder)
			}
		}
	}
}

func TestFullWireFilesSetEveryField(t *testing.T) {
	for name, payload := range wireFiles(t) {
		if !strings.HasSuffix(name, ".full.json") {
			continue
		}
		e, err := events.Decode("e-1", payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantSet(t, name, reflect.ValueOf(e.Event).Elem())
	}
}

// wantSet reports every exported field that is zero. Tasks and Count exclude each other: one is enough.
func wantSet(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "Unknown" || f.Name == "Count" {
				continue
			}
			wantSet(t, path+"."+f.Name, v.Field(i))
		}
	case v.IsZero():
		t.Errorf("%s is not set", path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			wantSet(t, path+"[]", v.Index(i))
		}
	}
}

// Members that no version knows stand at every level of these files, so their Unknown fields must all be set.
func TestUnknownMembersAreKeptAtEveryLevel(t *testing.T) {
	files := wireFiles(t)
	decode := func(name string) events.Envelope {
		e, err := events.Decode("e-1", files[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return e
	}
	ack := decode("task_acked.unknown.json")
	acked := ack.Event.(*events.TaskAcked)
	trig := decode("checkpoint_triggered.unknown.json").Event.(*events.CheckpointTriggered)
	start := decode("coordinator_started.unknown.json").Event.(*events.CoordinatorStarted)
	const want = `"x_new":{"deep":[1,2.5e3,{"a":null}]},"x_é":"😀"`
	for level, got := range map[string]events.Unknown{
		"envelope": ack.Unknown, "event": acked.Unknown, "handle": acked.Handle.Unknown,
		"chunk": acked.Handle.Chunks[0].Unknown, "measures": acked.Measures.Unknown,
		"task attempt": trig.Tasks[1].Unknown, "policy": start.Policy.Unknown,
	} {
		if string(got) != want {
			t.Errorf("%s: unknown members are %s, want %s", level, got, want)
		}
	}
}
