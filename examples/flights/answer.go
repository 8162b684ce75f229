package flights

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed" // the data set and its answer are part of the program, so that the job runs anywhere
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed data/flights-20k.jsonl.gz
var input []byte

//go:embed data/flights-daily-by-origin.csv.gz
var answer []byte

// ErrWrong is in the chain of the error of [Check].
var ErrWrong = errors.New("not the right answer")

// Lines is the number of records in the data set.
const Lines = 20_000

// WriteInput writes the data set (JSON lines, gzip) to a file.
func WriteInput(path string) error {
	if err := os.WriteFile(path, input, 0o644); err != nil {
		return fmt.Errorf("write flights: %w", err)
	}
	return nil
}

// Answer is the right output of all tasks together, by origin and day.
func Answer() ([]Day, error) {
	z, err := gzip.NewReader(bytes.NewReader(answer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	var days []Day
	for _, row := range rows[1:] { // below the header
		var n [4]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(row[i+1], 10, 64); err != nil {
				return nil, fmt.Errorf("read answer: %w", err)
			}
		}
		days = append(days, Day{row[0], n[0], n[1], n[2], n[3]})
	}
	sortDays(days)
	return days, nil
}

// ReadRows reads the output files of tasks.
func ReadRows(paths ...string) ([]Day, error) {
	var days []Day
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read output: %w", err)
		}
		rows, err := DecodeRows(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read output %s: %w", path, err)
		}
		days = append(days, rows...)
	}
	return days, nil
}

// DecodeRows reads output rows to the end of r.
func DecodeRows(r io.Reader) ([]Day, error) {
	var days []Day
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var d Day
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("row %d: %w", len(days)+1, err)
		}
		days = append(days, d)
	}
	return days, lines.Err()
}

// Check compares rows, in any order, with the right answer: none missing, none twice, none other. The error names the first
// few differences ([ErrWrong]).
func Check(rows []Day) error {
	want, err := Answer()
	if err != nil {
		return err
	}
	got := slices.Clone(rows)
	sortDays(got)
	var diffs []string
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && compare(want[0], got[0]) < 0:
			diffs, want = append(diffs, fmt.Sprintf("missing %+v", want[0])), want[1:]
		case len(want) == 0 || compare(want[0], got[0]) > 0:
			diffs, got = append(diffs, fmt.Sprintf("not expected %+v", got[0])), got[1:]
		default:
			want, got = want[1:], got[1:]
		}
	}
	if len(diffs) == 0 {
		return nil
	}
	return fmt.Errorf("%d differences, such as %s: %w", len(diffs), strings.Join(diffs[:min(3, len(diffs))], "; "), ErrWrong)
}

func sortDays(days []Day) { slices.SortFunc(days, compare) }

// compare orders by origin and day, then by the rest, so that only equal rows are equal.
func compare(a, b Day) int {
	return cmp.Or(
		strings.Compare(a.Origin, b.Origin), cmp.Compare(a.Start, b.Start),
		cmp.Compare(a.Flights, b.Flights), cmp.Compare(a.Sum, b.Sum), cmp.Compare(a.Max, b.Max),
	)
}
