package window_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tidemark-stream/tidemark/engine/window"
)

const (
	cont  = window.Continue
	fire  = window.Fire
	purge = window.FireAndPurge
)

// call is that of an open window.
func call(start, end int64) *window.Call {
	return &window.Call{
		Window: window.Window{Start: start, End: end}, EventTime: -1 << 63,
		WakeEventTime: window.Never, WakeProcessingTime: window.Never,
	}
}

func TestCountTriggerStartsAgainAfterFiring(t *testing.T) {
	for n, want := range map[int64][]window.Result{
		1: {fire, fire, fire}, 3: {cont, cont, fire, cont, cont, fire, cont},
	} {
		c := call(0, 10)
		var got []window.Result
		for range want {
			got = append(got, window.OnCount(n).OnElement(c, 5))
		}
		if !slices.Equal(got, want) {
			t.Errorf("count %d: %v, want %v", n, got, want)
		}
	}
	c, at := call(0, 10), 0
	for i := 1; at == 0; i++ {
		if window.OnCount(1000).OnElement(c, 5) == fire {
			at = i
		}
	}
	if at != 1000 {
		t.Error("count 1000 fires after", at)
	}
	c.Memory = window.Memory{}
	if c.Memory[0] = 2; window.OnCount(3).OnEventTime(c, 99) != cont || window.OnCount(3).OnProcessingTime(c, 99) != cont || c.Memory[0] != 2 {
		t.Error("a count cares for time")
	}
	if window.OnCount(3).OnMerge(c, window.Memory{2}); c.Memory[0] != 4 || window.OnCount(3).OnElement(c, 1) != fire || c.Memory[0] != 0 {
		t.Error("merged counts do not add up")
	}
	for _, bad := range []window.Trigger{window.OnCount(0), window.OnCount(-3), window.Purging(window.OnCount(0))} {
		if err := window.ValidateTrigger(bad); !errors.Is(err, window.ErrSize) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := window.ValidateTrigger(window.Purging(window.OnCount(1))); err != nil {
		t.Error(err)
	}
}

func TestTimeTriggers(t *testing.T) {
	event, processing := window.OnEventTime(), window.OnProcessingTime()
	c := call(1000, 5000)
	for at, want := range map[int64]window.Result{4999: cont, 5000: purge, 6000: purge} {
		if got := event.OnEventTime(c, at); got != want {
			t.Errorf("event time %d: %v, want %v", at, got, want)
		}
		if got := event.OnProcessingTime(c, at); got != cont {
			t.Errorf("event-time trigger at processing time %d: %v", at, got)
		}
		if got := processing.OnProcessingTime(c, at); got != want {
			t.Errorf("processing time %d: %v, want %v", at, got, want)
		}
		if got := processing.OnEventTime(c, at); got != cont {
			t.Errorf("processing-time trigger at event time %d: %v", at, got)
		}
	}
	if event.OnElement(c, 1000) != cont || c.WakeEventTime != window.Never || processing.OnElement(c, 1000) != cont || c.WakeProcessingTime != 5000 {
		t.Error("an element of an open window fires")
	}
	late := call(1000, 5000)
	late.EventTime, late.Lateness = 5000, 10
	if event.OnElement(late, 1000) != fire || event.OnEventTime(late, 5000) != fire || window.Purging(event).OnElement(late, 1000) != purge {
		t.Error("a late element does not fire")
	}
	empty := call(5, 5)
	if event.OnEventTime(empty, 4) != cont || event.OnEventTime(empty, 5) != purge {
		t.Error("a window of no length fires at its end")
	}
	if c.Memory != (window.Memory{}) || late.Memory != (window.Memory{}) {
		t.Error("time triggers remember something")
	}
	if window.UsesProcessingTime(event) || !window.UsesProcessingTime(processing) || !window.UsesProcessingTime(window.Purging(processing)) {
		t.Error("who needs a clock")
	}
}

func TestResultsHaveNames(t *testing.T) {
	for r, want := range map[window.Result]string{cont: "CONTINUE", fire: "FIRE", window.Purge: "PURGE", purge: "FIRE_AND_PURGE", 9: "unknown"} {
		if r.String() != want {
			t.Errorf("%d is %s", r, r)
		}
	}
	if window.Purging(nil) != nil {
		t.Error("purging nothing is something")
	}
}
