package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/internal/redisconn"
	"github.com/tidemark-stream/tidemark/projection"
)

// result compares the output with the right answer and shows where to look further.
func (d *demo) result(ctx context.Context) error {
	var files []string
	for i := range d.work {
		files = append(files, d.output(i))
	}
	rows, err := flights.ReadRows(files...)
	if err != nil {
		return err
	}
	d.screen.line("")
	d.showRows(rows)
	total := int64(0)
	for _, r := range rows {
		total += r.Flights
	}
	d.screen.line("")
	if err := flights.Check(rows); err != nil {
		d.screen.line("  %s %s rows, %s flights", d.screen.p.Red("✗ wrong:"), thousands(len(rows)), thousands(int(total)))
		return err
	}
	d.screen.line("  %s all %s rows and %s flights equal the known right answer", d.screen.p.Green("✓"), thousands(len(rows)), thousands(int(total)))
	id, err := d.showStory(ctx)
	if err != nil {
		return err
	}
	d.showNext(id)
	return nil
}

// showRows prints the head of the table.
func (d *demo) showRows(rows []flights.Day) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b flights.Day) int {
		if c := strings.Compare(a.Origin, b.Origin); c != 0 {
			return c
		}
		return int(a.Start/1000 - b.Start/1000)
	})
	table := [][]string{{"  ORIGIN", "DAY", "FLIGHTS", "DELAY SUM", "DELAY MAX"}}
	for _, r := range rows[:min(5, len(rows))] {
		table = append(table, []string{
			"  " + r.Origin, time.UnixMilli(r.Start).UTC().Format(time.DateOnly), strconv.FormatInt(r.Flights, 10),
			fmt.Sprintf("%d min", r.Sum), fmt.Sprintf("%d min", r.Max),
		})
	}
	table = append(table, []string{fmt.Sprintf("  … %s rows", thousands(len(rows)))})
	d.screen.p.Table(table)
}

// showStory prints one checkpoint event by event: one that failed, since that is what people ask about.
func (d *demo) showStory(ctx context.Context) (events.CheckpointID, error) {
	state, err := foldNow(ctx, d.job)
	if err != nil {
		return 0, err
	}
	id := state.LatestCompleted()
	for _, c := range state.History() {
		if c.Phase == projection.PhaseFailed && c.Required == demoWorkers {
			id = c.ID
		}
	}
	if id.IsZero() {
		return 0, errors.New("no checkpoint completed")
	}
	d.screen.line("")
	d.screen.line("  The story of checkpoint %s, from the log:", id)
	d.screen.line("")
	lines, err := storyOf(ctx, d.job, id)
	if err != nil {
		return 0, err
	}
	printStory(d.screen.p, lines, "  ")
	return id, nil
}

// showNext prints commands to try: about the checkpoint whose story was told, among others.
func (d *demo) showNext(id events.CheckpointID) {
	d.screen.line("")
	if !d.keep {
		d.screen.line("  To look around in it, keep it running: %s", keepCommand())
		d.screen.line("  and then try status, list --status failed, show %s and log --ended; it prints them in full.", id)
		return
	}
	flags := strings.Join(append([]string{"--redis", redisconn.Redact(d.redisURL)}, d.args...), " ")
	d.screen.line("  Look around, in another terminal:")
	for _, verb := range []string{"status", "list --status failed", "show " + id.String(), "log --ended"} {
		d.screen.line("    %s %s %s", program(), verb, flags)
	}
	if d.server == nil {
		d.screen.line("  The keys stay in your Redis. To be rid of them afterwards:")
		d.screen.line("    %s forget %s --yes", program(), flags)
	}
}

// keepCommand is how to start a demo that goes on.
func keepCommand() string {
	if strings.HasPrefix(program(), "go run") {
		return "make demo ARGS=--keep"
	}
	return program() + " demo --keep"
}

// program is how to call this program again: "go run" removes what it built.
func program() string {
	path, err := os.Executable()
	if err != nil || strings.Contains(path, "go-build") {
		return "go run ./cmd/coordinator"
	}
	return os.Args[0]
}
