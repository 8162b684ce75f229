package engine

import "sync/atomic"

// WindowProgress is what a window operator has not put in a window, in this run.
type WindowProgress struct {
	Operator     string // such as "window-1"
	LateDropped  int64  // all their windows were gone, and nobody reads the late output
	LateDiverted int64  // the same, sent to the late output
	Unplaced     int64  // the assigner has no window for them, such as between windows that slide by more than their size
}

// strays counts, and sends on, the records that belong to no window that is still there.
type strays[T any] struct {
	counted WindowProgress // guarded by the checkpoint lock
	task    *task
	side    *port[T]
	shown   struct{ dropped, diverted, unplaced atomic.Int64 }
}

// strayCounts is strays of any type.
type strayCounts interface {
	publish()
	progress() WindowProgress
}

func newStrays[T any](t *task, operator string, late *SideOutput[T]) *strays[T] {
	s := &strays[T]{counted: WindowProgress{Operator: operator}, task: t, side: own(t, late, operator)}
	t.strays = append(t.strays, s)
	return s
}

// late takes a record all of whose windows are gone.
func (s *strays[T]) late(v T, ts int64) error {
	if s.side.used() {
		s.counted.LateDiverted++
		return s.side.out.record(v, ts)
	}
	s.counted.LateDropped++
	s.task.late++
	return nil
}

// unplaced takes a record that has no window at all.
func (s *strays[T]) unplaced() { s.counted.Unplaced++ }

func (s *strays[T]) publish() {
	s.shown.dropped.Store(s.counted.LateDropped)
	s.shown.diverted.Store(s.counted.LateDiverted)
	s.shown.unplaced.Store(s.counted.Unplaced)
}

func (s *strays[T]) progress() WindowProgress {
	return WindowProgress{
		Operator: s.counted.Operator, LateDropped: s.shown.dropped.Load(),
		LateDiverted: s.shown.diverted.Load(), Unplaced: s.shown.unplaced.Load(),
	}
}
