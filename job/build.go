package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine"
)

// open calls Open, and Build for a try.
func (c Config) open(ctx context.Context, s Share) (closer func() error, err error) {
	if c.Job.Open != nil {
		if closer, err = c.Job.Open(ctx, s); err != nil {
			return nil, fmt.Errorf("open job %s: %w", s.Job, err)
		}
	}
	if closer == nil {
		closer = func() error { return nil }
	}
	if _, err := c.build(s); err != nil {
		return nil, errors.Join(err, closer())
	}
	return closer, nil
}

// build makes a pipeline for one run.
func (c Config) build(s Share) (*engine.Pipeline, error) {
	g, err := c.Job.Build(s)
	if err == nil && g == nil {
		err = errors.New("no graph")
	}
	if err != nil {
		return nil, fmt.Errorf("build job %s: %w", s.Job, err)
	}
	if c.Parallelism != 0 {
		g.SetParallelism(c.Parallelism)
	}
	p, err := g.Build()
	if err != nil {
		return nil, fmt.Errorf("build job %s: %w", s.Job, err)
	}
	return p, nil
}
