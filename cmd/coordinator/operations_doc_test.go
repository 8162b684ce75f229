package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/cmd/internal/servecmd"
	"github.com/tidemark-stream/tidemark/cmd/internal/workercmd"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/settings"
	"github.com/tidemark-stream/tidemark/job"
)

var update = flag.Bool("update", false, "write the tables of docs/operations.md anew")

const operations = "../../docs/operations.md"

func TestTheTablesOfSettingsAreTheFlags(t *testing.T) {
	b, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, cmd := range map[string]*cobra.Command{"coordinator serve": servecmd.Serve(), "worker run": workerVerb(t, "run")} {
		head := "<!-- settings: " + name + " -->\n"
		before, rest, ok1 := strings.Cut(text, head)
		table, after, ok2 := strings.Cut(rest, "<!-- end -->")
		want := settingsTable(cmd)
		switch {
		case !ok1 || !ok2:
			t.Errorf("%s has no table of settings of %s", operations, name)
		case *update:
			text = before + head + want + "<!-- end -->" + after
		case table != want:
			t.Errorf("the settings of %s in %s are not its flags; go test ./cmd/coordinator -run Settings -update mends it", name, operations)
		}
	}
	if *update {
		if err := os.WriteFile(operations, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// workerVerb is a verb of the program worker.
func workerVerb(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := job.Command(workercmd.Flights()).Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Programs of users know the settings of the coordinator from a list, since they are made without it.
func TestAFileForBothMayNameEverySettingOfTheCoordinator(t *testing.T) {
	var want []string
	servecmd.Serve().Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			want = append(want, f.Name)
		}
	})
	if diff := cmp.Diff(want, settings.Coordinator()); diff != "" {
		t.Errorf("settings.Coordinator does not list the flags of serve: %s", diff)
	}
}

func settingsTable(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("| flag | environment | default | unit | meaning |\n|---|---|---|---|---|\n")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		unit := map[string]string{"duration": "duration", "int": "number", "int64": "number", "float64": "number", "bool": "true, false"}[f.Value.Type()]
		def := f.DefValue
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s | %s |\n", f.Name, settings.EnvName(f.Name), def, unit, strings.ReplaceAll(f.Usage, "<", "&lt;"))
	})
	return b.String()
}

func TestEveryReasonOfAFailureIsExplained(t *testing.T) {
	b, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []events.FailureReason{
		events.FailedDeclined, events.FailedExpired, events.FailedAborted, events.FailedSubsumed, events.FailedTaskRestarted, events.FailedTaskLost,
		events.FailedCoordinatorChanged, events.FailedStateMissing, events.FailedFinalize, events.FailedShutdown,
	} {
		if !strings.Contains(string(b), "`"+string(r)+"`") {
			t.Errorf("%s does not explain %s", operations, r)
		}
	}
}

func TestEveryVerbSaysWhatItIsForAndHasAnExample(t *testing.T) {
	for _, cmd := range []*cobra.Command{
		demoCommand(), servecmd.Serve(), triggerCommand(), abortCommand(), withdrawCommand(), listCommand(), showCommand(), logCommand(),
		statusCommand(), healthCommand(), forgetCommand(), workerVerb(t, "run"), workerVerb(t, "health"),
	} {
		if cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, cmd.Name()) {
			t.Errorf("%s lacks a sentence, a paragraph or an example", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s says nothing", cmd.Name(), f.Name)
			}
		})
	}
}
