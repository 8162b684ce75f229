package compose_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// window is one airport's day.
type window struct {
	Origin string `json:"origin"`
	Start  int64  `json:"window_start_ms"`
}

// row is a line of the job's output.
type row struct {
	window
	Flights  int64 `json:"flights"`
	DelaySum int64 `json:"delay_sum_min"`
	DelayMax int64 `json:"delay_max_min"`
}

// knownRows is the right answer, computed once from the same records by other means.
func knownRows(t *testing.T) map[window]row {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "engine", "testdata", "flights-daily-by-origin.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[window]row{}
	for _, line := range lines[1:] { // the first names the columns
		var n [4]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(line[i+1], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		w := window{Origin: line[0], Start: n[0]}
		rows[w] = row{window: w, Flights: n[1], DelaySum: n[2], DelayMax: n[3]}
	}
	if len(rows) != 6901 {
		t.Fatalf("the known answer has %d rows, want 6901", len(rows))
	}
	return rows
}

// readRows reads the JSON lines of all output files together; a window that was written twice fails the test.
func readRows(t *testing.T, files map[string][]byte) map[window]row {
	t.Helper()
	rows := map[window]row{}
	for name, content := range files {
		if strings.HasPrefix(name, ".") {
			continue
		}
		for dec := json.NewDecoder(bytes.NewReader(content)); ; {
			var r row
			if err := dec.Decode(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("read %s: %v", name, err)
			}
			if twice, ok := rows[r.window]; ok {
				t.Errorf("%s has %+v, and an output file has %+v already", name, r, twice)
			}
			rows[r.window] = r
		}
	}
	return rows
}

func compareRows(t *testing.T, got, want map[window]row) {
	t.Helper()
	wrong := 0
	for w, r := range want {
		if got[w] == r {
			continue
		}
		if wrong++; wrong <= 10 { // the rest would say the same
			t.Errorf("%s, %d: got %+v, want %+v", w.Origin, w.Start, got[w], r)
		}
	}
	for w, r := range got {
		if _, ok := want[w]; !ok {
			t.Errorf("row %+v is not in the answer", r)
		}
	}
	t.Logf("%d rows, %d known, %d wrong or missing", len(got), len(want), wrong)
}
