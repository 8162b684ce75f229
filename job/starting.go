package job

import (
	"context"

	"github.com/tidemark-stream/tidemark/engine"
)

// starting is the pipeline of an attempt, and whom to tell when it starts.
type starting struct {
	*engine.Pipeline
	share   Share
	started func(Share, *engine.Pipeline)
}

// Run implements [worker.Pipeline]: the worker calls it when the restore point is in place.
func (s starting) Run(ctx context.Context) error {
	if s.started != nil {
		s.started(s.share, s.Pipeline)
	}
	return s.Pipeline.Run(ctx)
}
