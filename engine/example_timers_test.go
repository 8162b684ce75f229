package engine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

type click struct {
	User string
	At   int64 // milliseconds
}

// A visit ends half an hour after its last click: each click puts the timer of its user off.
func ExampleTimers() {
	const halfHour = int64(30 * time.Minute / time.Millisecond)
	minute := func(n int64) int64 { return n * int64(time.Minute/time.Millisecond) }
	clicks := []click{{"ann", minute(0)}, {"ben", minute(10)}, {"ann", minute(20)}, {"ann", minute(49)}, {"ben", minute(100)}}
	g := engine.New(engine.Config{})
	timed := engine.EventTime(engine.From(g, engine.Slice(clicks)), func(c click) int64 { return c.At }, engine.Ascending())
	byUser := engine.KeyBy(timed, func(c click) string { return c.User })
	visits := engine.Process(byUser, func(op *engine.Keyed[string]) engine.ProcessFunc[string, click, string] {
		timers := op.Timers()
		clicks, last := engine.ValueOf[int](op, "clicks"), engine.ValueOf[int64](op, "last")
		engine.OnTimer(op, func(_ engine.Context, t engine.Timer[string], emit func(string)) error {
			emit(fmt.Sprintf("%s left after %d clicks, at minute %d", t.Key, clicks.Get(), t.Time/minute(1)))
			clicks.Clear()
			last.Clear()
			return nil
		})
		return func(c engine.Context, _ string, _ click, _ func(string)) error {
			if at, ok := last.Lookup(); ok {
				timers.DeleteEventTime(at + halfHour)
			}
			timers.RegisterEventTime(c.Timestamp() + halfHour)
			last.Put(c.Timestamp())
			clicks.Put(clicks.Get() + 1)
			return nil
		}
	})
	for visit, err := range engine.Collect(context.Background(), visits) {
		fmt.Println(visit, err)
	}
	// Output:
	// ben left after 1 clicks, at minute 40 <nil>
	// ann left after 3 clicks, at minute 79 <nil>
	// ben left after 1 clicks, at minute 130 <nil>
}

// A client may try three times; what it has tried is forgotten an hour after its last attempt.
func ExampleDescriptor() {
	attempts := []click{{"ann", 0}, {"ann", 1}, {"ann", 2}, {"ann", 3}, {"ann", int64(time.Hour/time.Millisecond) + 3}}
	g := engine.New(engine.Config{})
	timed := engine.EventTime(engine.From(g, engine.Slice(attempts)), func(c click) int64 { return c.At }, engine.NoWatermarks())
	left := engine.Descriptor[int]{Name: "left", Default: 3, Version: 2, TTL: engine.TTL{After: time.Hour}}
	fmt.Println(left)
	answers := engine.Process(engine.KeyBy(timed, func(c click) string { return c.User }),
		func(op *engine.Keyed[string]) engine.ProcessFunc[string, click, string] {
			left := engine.Declare(op, left)
			return func(_ engine.Context, user string, _ click, emit func(string)) error {
				n := left.Get()
				if n == 0 {
					emit(user + " has to wait")
					return nil
				}
				left.Put(n - 1)
				emit(fmt.Sprint(user, " may try, ", n-1, " left"))
				return nil
			}
		})
	for answer, err := range engine.Collect(context.Background(), answers) {
		fmt.Println(answer, err)
	}
	// Output:
	// left int = 3 (version 2) for 1h0m0s of event time
	// ann may try, 2 left <nil>
	// ann may try, 1 left <nil>
	// ann may try, 0 left <nil>
	// ann has to wait <nil>
	// ann may try, 2 left <nil>
}
