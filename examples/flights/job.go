package flights

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// OutOfOrderness is how far a record of the data set can lie behind one that came before it.
const OutOfOrderness = 491 * time.Minute

// Flight is one line of the input.
type Flight struct {
	TS          int64  `json:"ts"` // departure, milliseconds since the epoch
	Origin      string `json:"origin"`
	Destination string `json:"destination"`
	Delay       int64  `json:"delay"`    // minutes; negative is early
	Distance    int64  `json:"distance"` // miles
}

// Day is one line of the output: an origin on one day (UTC).
type Day struct {
	Origin  string `json:"origin"`
	Start   int64  `json:"window_start_ms"`
	Flights int64  `json:"flights"`
	Sum     int64  `json:"delay_sum_min"`
	Max     int64  `json:"delay_max_min"` // at least 0
}

// Config of one task of the job.
type Config struct {
	// Input is a file of JSON lines, plain or gzip. Every task reads all of it and keeps its share.
	Input string
	// Output is the file that the rows of this task will be in; see [engine.ToFile].
	Output string
	// Index and Count say which share: task Index (from 0) of Count. Count 0 means 1.
	Index, Count int
	// Rate limits the input, in lines a second; 0 means no limit.
	Rate float64
	// OutOfOrderness is how far a record may lie behind; what lies further is dropped and counted. 0 means [OutOfOrderness];
	// negative means 0.
	OutOfOrderness time.Duration
	// MaxParallelism is the number of key groups, so of state chunks per cut. 0 means 16: a few dozen windows are open at
	// a time, and a chunk for each would be mostly frame.
	MaxParallelism int
}

func (c Config) withDefaults() Config {
	if c.Count == 0 {
		c.Count = 1
	}
	if c.OutOfOrderness == 0 {
		c.OutOfOrderness = OutOfOrderness
	}
	c.OutOfOrderness = max(c.OutOfOrderness, 0)
	if c.MaxParallelism == 0 {
		c.MaxParallelism = 16
	}
	return c
}

// Graph puts the job of one task together.
func Graph(cfg Config) (*engine.Graph, error) {
	cfg = cfg.withDefaults()
	if cfg.Count < 1 || cfg.Index < 0 || cfg.Index >= cfg.Count {
		return nil, fmt.Errorf("build flights job: task %d of %d: %w", cfg.Index, cfg.Count, engine.ErrInvalid)
	}
	g := engine.New(engine.Config{MaxParallelism: cfg.MaxParallelism})
	lines := engine.JSONLines[Flight]{Path: cfg.Input}
	days := Days(cfg, engine.From(g, engine.Throttle[Flight](lines, cfg.Rate)))
	engine.ToFile(days, cfg.Output, engine.JSONRow[Day])
	return g, nil
}

// Job builds the pipeline of one task.
func Job(cfg Config) (*engine.Pipeline, error) {
	g, err := Graph(cfg)
	if err != nil {
		return nil, err
	}
	p, err := g.Build()
	if err != nil {
		return nil, fmt.Errorf("build flights job: %w", err)
	}
	return p, nil
}

// Days is the job between source and sink.
func Days(cfg Config, all engine.Stream[Flight]) engine.Stream[Day] {
	cfg = cfg.withDefaults()
	mine := engine.Filter(all, func(f Flight) bool { return Owner(f.Origin, cfg.Count) == cfg.Index })
	timed := engine.EventTime(mine, func(f Flight) int64 { return f.TS }, engine.Bounded(cfg.OutOfOrderness))
	byOrigin := engine.KeyBy(timed, func(f Flight) string { return f.Origin })
	daily := engine.Aggregate(engine.Window(byOrigin, window.Tumbling(24*time.Hour)), totals())
	return engine.Map(daily, func(r engine.Result[string, total]) Day {
		return Day{Origin: r.Key, Start: r.Window.Start, Flights: r.Value.Flights, Sum: r.Value.Sum, Max: r.Value.Max}
	})
}

// total is what a day has come to so far.
type total struct {
	Flights, Sum, Max int64
}

func totals() engine.Aggregation[Flight, total, total] {
	return engine.Aggregation[Flight, total, total]{
		// Max starts at 0, so early flights do not lower it.
		Add: func(t total, f Flight) total {
			return total{Flights: t.Flights + 1, Sum: t.Sum + f.Delay, Max: max(t.Max, f.Delay)}
		},
		Result: func(t total) total { return t },
	}
}

// Owner is the task, of count, that an origin belongs to.
func Owner(origin string, count int) int { return state.Group(state.Hash64(origin), count) }
