package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoCheckpoint is the error of an id that no checkpoint has, or none any more.
var ErrNoCheckpoint = errors.New("no such checkpoint")

// keptCheckpoints is how many checkpoints are kept where nothing else is said.
const keptCheckpoints = 5

// Checkpoints takes checkpoints of one pipeline and keeps them in memory, for programs that need no more than that: whoever
// wants state to outlive the process runs a worker instead, and leaves this alone. It starts no goroutine of its own; all
// methods may be called from any, before, during and after the run, and from inside a record's function with its [Context].
type Checkpoints struct {
	pipeline *Pipeline
	keep     int
	last     atomic.Int64 // the id given last; the next is given under the checkpoint lock

	mu   sync.Mutex  // a leaf
	kept []*Snapshot // completed, by id
}

// EnableCheckpoints gives the pipeline a coordinator in memory that keeps the newest checkpoints, as many as keep says; less than
// 1 means 5. There is one of a pipeline: a second call gives the same, which keeps as many as the first call said.
func (p *Pipeline) EnableCheckpoints(keep int) *Checkpoints {
	if keep < 1 {
		keep = keptCheckpoints
	}
	p.checkpoints.CompareAndSwap(nil, &Checkpoints{pipeline: p, keep: keep})
	return p.checkpoints.Load()
}

// Checkpoints is what [Pipeline.EnableCheckpoints] has given; nil before that.
func (p *Pipeline) Checkpoints() *Checkpoints { return p.checkpoints.Load() }

// Trigger takes a checkpoint and completes it: on return it is kept, and the sinks have committed what it covers. The first id is
// 1, and none is given twice; a greater id means a later cut. It waits and is refused as [Pipeline.Cut] does and is, which says
// where a checkpoint from inside a record lies; with several subtasks, see [Checkpoints.Request]. If a part cannot be cut, or a
// sink cannot make its rows durable, there is no checkpoint. If a sink cannot commit, the error comes with the id: the
// checkpoint stands, and that sink commits with the next.
//
// A checkpoint costs memory for the pages of keyed state that change after it, until it is dropped.
func (c *Checkpoints) Trigger(ctx context.Context) (id int64, err error) {
	return c.trigger(ctx, c.pipeline.hold)
}

// Request is a Trigger that is asked for now, and taken as soon as every subtask is between two records; see [Pipeline.Request].
func (c *Checkpoints) Request(ctx context.Context) *Requested[int64] {
	return request(ctx, c.pipeline, func(hold holding) (int64, error) { return c.trigger(ctx, hold) })
}

// Run triggers a checkpoint each time that the interval has passed, until ctx ends or one fails, and returns why. One that takes
// longer than the interval is followed by the next at once.
func (c *Checkpoints) Run(ctx context.Context, every time.Duration) error {
	if every <= 0 {
		return fmt.Errorf("checkpoints every %v: %w", every, ErrInvalid)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if _, err := c.Trigger(ctx); err != nil {
			return err
		}
	}
}

func (c *Checkpoints) trigger(ctx context.Context, hold holding) (int64, error) {
	var id int64
	s, err := c.pipeline.cut(ctx, hold, func() int64 {
		id = c.last.Add(1)
		return id
	})
	if err == nil {
		err = c.pipeline.makeDurable(ctx, s)
	}
	if err != nil {
		if id > 0 {
			err = errors.Join(fmt.Errorf("checkpoint %d: %w", id, err), c.pipeline.Failed(ctx, id))
		}
		return 0, fmt.Errorf("trigger: %w", err)
	}
	c.add(s)
	return id, c.pipeline.Completed(ctx, id)
}

// makeDurable encodes what sinks have in the cut, which brings their rows to the disk; all else is encoded when it is asked for.
func (p *Pipeline) makeDurable(ctx context.Context, s *Snapshot) error {
	for _, i := range s.Items {
		if !p.ofSink(i) {
			continue
		}
		if _, err := i.EncodeContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ofSink says whether an item is that of a sink which writes.
func (p *Pipeline) ofSink(i Item) bool {
	return slices.ContainsFunc(p.sinks, func(s sinkPart) bool { return s.partName() == i.Name })
}

// add keeps a checkpoint, which may have been overtaken by later ones, and drops the oldest if there are too many.
func (c *Checkpoints) add(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := c.find(s.ID)
	c.kept = slices.Insert(c.kept, i, s)
	if len(c.kept) > c.keep {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
}

// find gives the place of an id among those that are kept.
func (c *Checkpoints) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(c.kept, id, func(s *Snapshot, id int64) int { return cmp.Compare(s.ID, id) })
}

// Latest is the completed checkpoint with the greatest id, if there is one. It is the caller's own, as that of Get is.
func (c *Checkpoints) Latest() (*Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) == 0 {
		return nil, false
	}
	return c.kept[len(c.kept)-1].clone(), true
}

// Get is the completed checkpoint with the given id, if it is kept. [Snapshot.Encode] makes of it what a new pipeline adopts.
func (c *Checkpoints) Get(id int64) (*Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.find(id)
	if !ok {
		return nil, false
	}
	return c.kept[i].clone(), true
}

// IDs are those of the checkpoints that are kept, ascending.
func (c *Checkpoints) IDs() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []int64
	for _, s := range c.kept {
		ids = append(ids, s.ID)
	}
	return ids
}

// Stores are the names of the keyed state of the pipeline, such as "store-1.sum"; see [Pipeline.States].
func (c *Checkpoints) Stores() []string { return stateNames(c.pipeline.exec.Load()) }
