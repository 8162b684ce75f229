package engine

import (
	"context"
	"fmt"
	"slices"
)

// Restore takes the pipeline back to a checkpoint while it runs, before it or after it. Under the locks of all subtasks, at
// one moment between records:
//
//   - Keyed state becomes that of the checkpoint: what is not in it is gone.
//   - Watermarks are played back: each stream has that of the checkpoint, and is idle if it was and none of its records waits.
//     Operators hear of a watermark again once it is above what they have heard; for them time never goes back.
//   - Functions of [RegisterSnapshotSource] get their bytes back.
//   - The content of windows is only shown ([Pipeline.Mirror]). Windows, positions of sources, what is under way between subtasks
//     and rows of sinks stay: records that have been processed do not come again. To process them again, with each row
//     once, adopt the checkpoint in a new pipeline ([Snapshot.Encode], [Pipeline.Restore]).
//
// It is taken whole: after an error nothing has changed, except that functions of [RegisterSnapshotSource] may have been called.
// ErrNoCheckpoint is the error of an id that is not kept. It waits and is refused as [Pipeline.Cut] does and is. From inside a
// record, where that has the only subtask, it takes effect at once: what the record reads and writes after it is the restored
// state.
//
// The stream stands still meanwhile: reading a checkpoint back takes time for every key.
func (c *Checkpoints) Restore(ctx context.Context, id int64) error {
	if err := c.restore(ctx, id); err != nil {
		return fmt.Errorf("restore checkpoint %d: %w", id, err)
	}
	return nil
}

func (c *Checkpoints) restore(ctx context.Context, id int64) error {
	s, ok := c.Get(id)
	if !ok {
		return fmt.Errorf("%w; kept are %d", ErrNoCheckpoint, c.IDs())
	}
	s.Items = slices.DeleteFunc(s.Items, c.pipeline.ofSink)
	cut, err := s.Encode()
	if err != nil {
		return err
	}
	in, err := newItems(cut)
	if err != nil {
		return err
	}
	e, release, err := c.pipeline.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return e.rewind(in)
}

// rewind loads a cut into whatever goes back in a pipeline that may run: see [Checkpoints.Restore]. Sinks do not.
func (e *execution) rewind(in *items) error {
	p := e.pipeline
	parts := slices.Clone(e.parts)
	for _, u := range p.users() {
		parts = append(parts, u)
	}
	commit, err := p.load(in, parts, rewind)
	if err != nil {
		return err
	}
	if err := p.handBack(in); err != nil {
		return err
	}
	commit()
	e.publish()
	p.mirror.Store(&in.mirror)
	for _, t := range e.tasks {
		t.bell.ring() // to pass on which streams are idle now
	}
	return nil
}
