package worker_test

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/worker"
)

// feed is a source that the test feeds; closing it ends the input.
type feed struct{ c chan int }

func newFeed() feed { return feed{make(chan int)} }

func (feed) Seekable() bool { return true }

func (f feed) Run(ctx context.Context, c *engine.Collector[int]) error {
	for {
		select {
		case v, ok := <-f.c:
			if !ok {
				return nil
			}
			if err := c.Collect(v); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// spy is a pipeline that notes what it is told.
type spy struct {
	*engine.Pipeline
	ran atomicFlag

	mu        sync.Mutex
	completed []int64 // guarded by mu, as all below
	failed    []int64
	cuts      []int64
	refuse    error // what Completed and Failed answer
}

func (p *spy) Run(ctx context.Context) error {
	p.ran.set()
	return p.Pipeline.Run(ctx)
}

func (p *spy) Cut(ctx context.Context, id int64) (*engine.Snapshot, error) {
	p.mu.Lock()
	p.cuts = append(p.cuts, id)
	p.mu.Unlock()
	return p.Pipeline.Cut(ctx, id)
}

func (p *spy) Completed(ctx context.Context, id int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.completed = append(p.completed, id)
	if p.refuse != nil {
		return p.refuse
	}
	return p.Pipeline.Completed(ctx, id)
}

func (p *spy) Failed(ctx context.Context, id int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, id)
	if p.refuse != nil {
		return p.refuse
	}
	return p.Pipeline.Failed(ctx, id)
}

func (p *spy) setRefuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = err
}

func (p *spy) told() (completed, failed, cuts []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int64(nil), p.completed...), append([]int64(nil), p.failed...), append([]int64(nil), p.cuts...)
}

type atomicFlag struct {
	mu sync.Mutex
	on bool
}

func (f *atomicFlag) set() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = true
}

func (f *atomicFlag) get() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on
}

// job is a small pipeline: the numbers of a feed, summed by their last digit.
type job struct {
	feed feed
	rows *engine.Rows[int]
	made atomic.Pointer[spy] // the pipeline of the newest attempt
	// each, if not nil, sees every number before it counts.
	each func(v int) error
	// extra, if not nil, adds to the graph.
	extra func(g *engine.Graph)
}

func newJob() *job { return &job{feed: newFeed(), rows: &engine.Rows[int]{}} }

func (j *job) build(worker.Start) (worker.Pipeline, error) {
	g := engine.New(engine.Config{MaxParallelism: 4})
	in := engine.TryMap(engine.From[int](g, j.feed), func(_ engine.Context, v int) (int, error) {
		if j.each != nil {
			return v, j.each(v)
		}
		return v, nil
	})
	sums := engine.Reduce(engine.KeyBy(in, func(v int) int { return v % 10 }), func(a, b int) int { return a + b })
	engine.ToRows(sums, j.rows)
	if j.extra != nil {
		j.extra(g)
	}
	p, err := g.Build()
	if err != nil {
		return nil, err
	}
	made := &spy{Pipeline: p}
	j.made.Store(made)
	return made, nil
}

// spied is the pipeline of the newest attempt.
func (j *job) spied() *spy { return j.made.Load() }

func (j *job) config() worker.Config {
	return worker.Config{Build: j.build, Mode: engine.Adopt}
}
