package engine

import (
	"context"
	"fmt"
	"math"
)

// Endless is the number of records of a generator that never ends.
const Endless int64 = math.MaxInt64

// Generate is a seekable source of the n records f(0), f(1), …, or of [Endless] many; a negative n is reported by Build. f is a
// function of the number alone: after an adopted cut it is called from the first record behind the cut on. It is called on the
// source's goroutine and must not wait for anything, since up to 63 records stay unseen while it makes more; [Throttle] sets
// the pace. Timestamps are the numbers.
func Generate[T any](n int64, f func(i int64) T) Source[T] {
	if f == nil {
		return nil
	}
	return generator[T]{n, f}
}

type generator[T any] struct {
	n int64
	f func(i int64) T
}

func (s generator[T]) Seekable() bool { return true }

// Validate reports a negative number of records.
func (s generator[T]) Validate() error {
	if s.n < 0 {
		return fmt.Errorf("generate %d records: %w", s.n, ErrInvalid)
	}
	return nil
}

func (s generator[T]) Run(_ context.Context, c *Collector[T]) error {
	if c.From() > s.n {
		return fmt.Errorf("offset %d of %d generated records: %w", c.From(), s.n, ErrInvalid)
	}
	for i := c.From(); i < s.n; i++ {
		if err := c.collectSoon(s.f(i)); err != nil {
			return err
		}
	}
	return nil
}
