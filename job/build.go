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

// build makes a pipeline for one run. A graph that cannot be built is an [ErrUsage]: no restart mends it.
func (c Config) build(s Share) (*engine.Pipeline, error) {
	g, err := c.Job.Build(s)
	switch {
	case errors.Is(err, engine.ErrInvalid):
		return nil, Usagef("build job %s: %w", s.Job, err)
	case err != nil: // a folder that cannot be made, a service that is away
		return nil, fmt.Errorf("build job %s: %w", s.Job, err)
	case g == nil:
		return nil, Usagef("build job %s: no graph", s.Job)
	}
	if c.Parallelism != 0 {
		g.SetParallelism(c.Parallelism)
	}
	p, err := g.Build()
	if err != nil {
		return nil, Usagef("build job %s: %w", s.Job, err)
	}
	return p, nil
}
