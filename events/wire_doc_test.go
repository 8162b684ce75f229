package events_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
)

// docField is one row of a table of docs/wire-format.md.
type docField struct{ typ, must string }

func readDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/wire-format.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section is what stands under the heading, up to the next heading.
func section(t *testing.T, doc, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("no heading %q", heading)
	}
	body, _, _ := strings.Cut(rest, "\n#")
	return body
}

var tableRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\| ([^|]+) \\|")

func docTable(section string) map[string]docField {
	fields := map[string]docField{}
	for _, m := range tableRow.FindAllStringSubmatch(section, -1) {
		fields[m[1]] = docField{typ: m[2], must: strings.TrimSpace(m[3])}
	}
	return fields
}

// paths collects the paths of all members below v, as the doc writes them, with one value for each.
func paths(prefix string, v any, into map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			path := strings.TrimPrefix(prefix+"."+name, ".")
			into[path] = member
			if path != "handle.inline" {
				paths(path, member, into)
			}
		}
	case []any:
		for _, e := range v {
			if _, object := e.(map[string]any); !object {
				into[prefix+"[]"] = e
			}
			paths(prefix+"[]", e, into)
		}
	}
}

// written gives the members of the data of a kind in its frozen files, and the payload of each as a tree.
func written(t *testing.T, k events.Kind) (fields map[string]any, payloads []map[string]any) {
	t.Helper()
	files := wireFiles(t)
	fields = map[string]any{}
	for _, what := range []string{".full.json", ".minimal.json"} {
		payload := parse(t, files[string(k)+what])
		payloads = append(payloads, payload)
		paths("", payload["data"], fields)
	}
	return fields, payloads
}

func parse(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

func TestDocListsEveryKindAndNoOther(t *testing.T) {
	_, kinds, _ := strings.Cut(readDoc(t), "\n## 4. The kinds\n")
	kinds, _, _ = strings.Cut(kinds, "\n## ")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(kinds, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(texts(events.Kinds()), got); diff != "" {
		t.Error(diff)
	}
}

func TestDocListsExactlyTheFieldsThatAreWrittenWithTheirTypes(t *testing.T) {
	doc := readDoc(t)
	for _, k := range events.Kinds() {
		t.Run(string(k), func(t *testing.T) {
			fields, _ := written(t, k)
			compareTable(t, docTable(section(t, doc, "### "+string(k))), fields)
		})
	}
	t.Run("envelope", func(t *testing.T) {
		envelope := parse(t, wireFiles(t)["task_acked.full.json"])
		envelope["data"] = map[string]any{}
		compareTable(t, docTable(section(t, doc, "## 2. The envelope")), envelope)
	})
}

func compareTable(t *testing.T, doc map[string]docField, fields map[string]any) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(doc))); diff != "" {
		t.Fatalf("fields written (-) and documented (+): %s", diff)
	}
	for name, f := range doc {
		if !fits(f.typ, fields[name]) {
			t.Errorf("%s is documented as %s, but %v is written", name, f.typ, fields[name])
		}
	}
}

// fits tells whether a value in a frozen file is of the type that the doc says.
func fits(typ string, v any) bool {
	s, isText := v.(string)
	switch typ {
	case "integer":
		_, ok := v.(json.Number)
		return ok
	case "flag":
		_, ok := v.(bool)
		return ok
	case "list":
		_, ok := v.([]any)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "name":
		return isText && regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`).MatchString(s)
	case "word":
		return isText && regexp.MustCompile(`^[a-z_]+$`).MatchString(s)
	case "position":
		return isText && regexp.MustCompile(`^\d+-\d+$`).MatchString(s)
	case "digest":
		return isText && regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(s)
	case "text":
		return isText
	}
	return typ == "json"
}

// Each field is taken out of a frozen file in turn: what must be there is missed, and nothing else is.
func TestDocTellsWhichFieldsMustBeThere(t *testing.T) {
	doc := readDoc(t)
	for _, k := range events.Kinds() {
		t.Run(string(k), func(t *testing.T) {
			_, payloads := written(t, k)
			for name, f := range docTable(section(t, doc, "### "+string(k))) {
				if f.must == "–" {
					continue // an element of a list
				}
				compareMust(t, name, f.must != "no", payloads)
			}
		})
	}
	t.Run("envelope", func(t *testing.T) {
		for name, f := range docTable(section(t, doc, "## 2. The envelope")) {
			payload := parse(t, wireFiles(t)["task_acked.full.json"])
			delete(payload, name)
			wantMissed(t, name, f.must == "yes", payload)
		}
	})
}

func compareMust(t *testing.T, path string, must bool, payloads []map[string]any) {
	t.Helper()
	found := false
	for _, payload := range payloads {
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		payload = parse(t, b)
		if without(payload["data"], strings.Split(path, ".")) {
			wantMissed(t, path, must, payload)
			found = true
		}
	}
	if !found {
		t.Errorf("%s stands in no frozen file", path)
	}
}

// without takes the member at the path out of v, and reports whether it was there.
func without(v any, path []string) bool {
	name, list := strings.CutSuffix(path[0], "[]")
	object, _ := v.(map[string]any)
	member, ok := object[name]
	switch {
	case !ok:
		return false
	case len(path) == 1:
		delete(object, name)
		return true
	case list:
		elements, _ := member.([]any)
		return len(elements) > 0 && without(elements[0], path[1:])
	}
	return without(member, path[1:])
}

func wantMissed(t *testing.T, name string, must bool, payload map[string]any) {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.Decode("e", b); (err != nil) != must {
		t.Errorf("%s must be there: %v; but without it Decode says %v", name, must, err)
	}
}

func TestDocListsEveryWordOfTheClosedLists(t *testing.T) {
	lists := section(t, readDoc(t), "## 5. The closed lists")
	for list, want := range map[string][]string{
		"type of a checkpoint":          texts([]events.CheckpointType{events.TypeCheckpoint, events.TypeSavepoint}),
		"reason of request_refused":     texts(events.RefusalReasons()),
		"reason of task_declined":       texts(events.DeclineReasons()),
		"reason of task_restore_failed": texts(events.RestoreFailures()),
		"reason of checkpoint_failed":   texts(events.FailureReasons()),
		"cause of log_gap_found":        texts([]events.GapCause{events.GapTrimmed, events.GapDeleted, events.GapFailover}),
	} {
		_, row, _ := strings.Cut(lists, "| "+list+" | ")
		row, _, _ = strings.Cut(row, " |")
		if got := strings.Split(strings.Trim(row, "`"), "`, `"); !slices.Equal(got, want) {
			t.Errorf("%s: the doc has %q, want %q", list, got, want)
		}
	}
}
