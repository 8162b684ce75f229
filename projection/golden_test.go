package projection_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// world is what one golden log talks about: a log, its fold, a clock that only the file moves, and a coordinator's gates.
type world struct {
	t      *testing.T
	state  *projection.State
	timing *projection.Timing
	now    time.Duration
	gates  projection.Gates
	last   events.Position
	log    []events.Envelope
	where  []events.Position
	out    strings.Builder
}

func newWorld(t *testing.T) *world {
	return &world{t: t, state: projection.New("orders"), timing: &projection.Timing{}}
}

// append puts an event at the end of the log and folds it.
func (w *world) append(e events.Event, job events.JobID) projection.Outcome {
	w.t.Helper()
	w.last.Ms++
	env := events.Envelope{ID: "e", Job: job, At: w.now.Milliseconds(), Event: e}
	w.log, w.where = append(w.log, env), append(w.where, w.last)
	o := w.state.Apply(w.last, env)
	w.timing.Observe(w.now, w.state, env, o)
	if err := w.state.Check(); err != nil {
		w.t.Errorf("after %s at %s: %v", env.Kind(), w.last, err)
	}
	return o
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *world) decide() []projection.Decision {
	return projection.Decide(w.state, w.timing, w.now, w.gates)
}

// apply folds the lines, shows each outcome, then what changed, then what is to be done.
func (w *world) apply(input string) {
	before := dump(w.state)
	for text := range strings.Lines(input) {
		l := parseLine(text)
		if l.verb == "at" {
			w.now = duration(w.t, l.word(0))
			continue
		}
		o := w.append(l.event(w.state), events.JobID(l.named["job"]))
		w.printf("%s: %s", strings.TrimSpace(text), showOutcome(w.state, o))
	}
	for _, l := range changes(before, dump(w.state)) {
		w.printf("%s", l)
	}
	w.showDecisions()
}

func (w *world) showDecisions() {
	for _, d := range w.decide() {
		w.printf("  => %s", showDecision(d))
	}
	if due, ok := projection.NextDue(w.state, w.timing, w.now); ok {
		w.printf("  => look again at %s", due)
	}
}

// settle carries decisions out until there are none.
func (w *world) settle() {
	for range 1000 {
		list := w.decide()
		if len(list) == 0 {
			return
		}
		o := w.append(effect(w.state, list[0]), "")
		w.printf("%s %s: %s", w.now, showDecision(list[0]), showOutcome(w.state, o))
	}
	w.t.Error("the decisions do not settle")
}

// run carries decisions out and jumps from due time to due time, as the loop sleeps.
func (w *world) run(until time.Duration) {
	for {
		w.settle()
		due, ok := projection.NextDue(w.state, w.timing, w.now)
		if !ok || due > until {
			w.now = until
			return
		}
		w.now = due
	}
}

func (w *world) setGates(t *testing.T, l line) {
	w.gates = projection.Gates{
		Unverified: l.has("unverified"), ShuttingDown: l.has("shutting-down"), DrainOver: l.has("drain-over"),
		TriggerInFlight: l.has("trigger-in-flight"), NextID: events.CheckpointID(l.number("next", 0)),
	}
	for one := range strings.SplitSeq(l.named["lost"], ",") {
		name, n, ok := strings.Cut(one, ":")
		if !ok {
			continue
		}
		attempt, err := events.ParseAttempt(n)
		if err != nil {
			t.Fatal(err)
		}
		w.gates.LostTasks = append(w.gates.LostTasks, events.TaskAttempt{Task: events.TaskID(name), Attempt: attempt})
	}
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *world) command(t *testing.T, d *datadriven.TestData) string {
	w.t = t
	w.out.Reset()
	switch d.Cmd {
	case "apply":
		w.apply(d.Input)
	case "settle":
		w.settle()
	case "run":
		until := ""
		d.ScanArgs(t, "until", &until)
		w.run(duration(t, until))
	case "at":
		w.now = duration(t, d.CmdArgs[0].Key)
		w.showDecisions()
	case "gates":
		w.setGates(t, parseLine("gates "+d.Input))
		w.showDecisions()
	case "cycle":
		reason, text := projection.Cycle(w.state, w.timing, w.now, w.gates)
		w.printf("%s: %s", orNone(string(reason)), text)
	case "garbage":
		for _, ref := range w.state.Garbage(parseLine("garbage " + d.Input).ids()...) {
			w.printf("%s", undigest(ref.Digest))
		}
	case "history":
		for _, c := range w.state.History() {
			w.printf("%s: %s", dumpCheckpoint(c), c.Text)
		}
	case "failover":
		w.failover()
	default:
		t.Fatalf("no such command: %s", d.Cmd)
	}
	if w.out.Len() == 0 {
		return "nothing\n"
	}
	return w.out.String()
}

// failover folds the log again from the start, as another process would, and shows that the state is the same.
func (w *world) failover() {
	again := projection.New("orders")
	for i := range w.log {
		again.Apply(w.where[i], w.log[i])
	}
	w.printf("same fold: %v", string(saved(w.t, again)) == string(saved(w.t, w.state)))
	w.state = again
	w.timing = projection.NewTiming(w.now, again)
}

func saved(t interface {
	Helper()
	Fatal(args ...any)
}, s *projection.State,
) []byte {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldenLogs(t *testing.T) {
	datadriven.Walk(t, "testdata/logs", func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, w.command)
	})
}
