package flights_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/examples/flights"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Three tasks together give the right answer, and with the documented bound no record is late.
func TestThreeTasksGiveTheRightAnswer(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "flights.jsonl.gz")
	if err := flights.WriteInput(input); err != nil {
		t.Fatal(err)
	}
	var outputs []string
	kept := int64(0)
	for i := range 3 {
		out := filepath.Join(dir, fmt.Sprintf("out-%d.jsonl", i))
		outputs = append(outputs, out)
		p, err := flights.Job(flights.Config{Input: input, Output: out, Index: i, Count: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Run(t.Context()), p.Finish(t.Context())); err != nil {
			t.Fatal(err)
		}
		pr := p.Progress()
		if pr.RecordsIn != flights.Lines || pr.LateDropped != 0 || pr.Watermark != engine.MaxWatermark {
			t.Errorf("progress %+v", pr)
		}
		kept += pr.RecordsOut
	}
	rows, err := flights.ReadRows(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	if err := flights.Check(rows); err != nil {
		t.Error(err)
	}
	if len(rows) != 6901 || kept != 6901 {
		t.Errorf("%d rows", len(rows))
	}
	var total int64
	for _, r := range rows {
		total += r.Flights
	}
	if total != flights.Lines {
		t.Errorf("%d flights", total)
	}
	if files, _ := os.ReadDir(dir); len(files) != 4 {
		t.Errorf("left behind: %v", files)
	}
}

// The bound is needed: a tenth of it drops records, each counted, and the answer is wrong by exactly those.
func TestATighterBoundDropsAndCounts(t *testing.T) {
	dir := t.TempDir()
	input, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := flights.WriteInput(input); err != nil {
		t.Fatal(err)
	}
	p, err := flights.Job(flights.Config{Input: input, Output: out, OutOfOrderness: 49 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Run(t.Context()), p.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	rows, err := flights.ReadRows(out)
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, r := range rows {
		total += r.Flights
	}
	late := p.Progress().LateDropped
	if late == 0 || total+late != flights.Lines {
		t.Errorf("%d late, %d in windows", late, total)
	}
	if err := flights.Check(rows); !errors.Is(err, flights.ErrWrong) {
		t.Error(err)
	}
}

func TestCheckFindsMissingAndDoubledRows(t *testing.T) {
	rows, err := flights.Answer()
	if err != nil {
		t.Fatal(err)
	}
	if err := flights.Check(rows); err != nil {
		t.Error(err)
	}
	changed := append([]flights.Day(nil), rows...)
	changed[5].Sum++
	for name, bad := range map[string][]flights.Day{
		"missing": rows[1:], "doubled": append(slices.Clip(rows), rows[7]), "changed": changed, "nothing": nil,
	} {
		if err := flights.Check(bad); !errors.Is(err, flights.ErrWrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSharesThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []flights.Config{{Index: 1}, {Index: -1, Count: 2}, {Index: 2, Count: 2}, {Count: -1}} {
		c.Input, c.Output = "in", "out"
		if _, err := flights.Job(c); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := flights.Job(flights.Config{}); err == nil {
		t.Error("no paths")
	}
}
