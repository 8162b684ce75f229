package workercmd_test

import (
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/cmd/internal/workercmd"
	"github.com/tidemark-stream/tidemark/job"
)

// One file for several shares would lose rows: the first to end takes the others' parts for its own leftovers.
func TestOneOutputFileForSeveralSharesIsRefused(t *testing.T) {
	for output, refused := range map[string]bool{
		"out/all.jsonl": true, "all.jsonl": true, "out/task-2.jsonl": false, "two/": false,
	} {
		root := job.Command(workercmd.Flights())
		root.SetArgs([]string{"run", "--task", "2/3", "--output", t.TempDir() + "/" + output, "--redis", "redis://127.0.0.1:1"})
		err := root.ExecuteContext(t.Context())
		if err == nil || strings.Contains(err.Error(), "--output") != refused {
			t.Errorf("%s: %v", output, err)
		}
	}
}
