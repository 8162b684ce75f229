package engine

import "context"

// Chan is a source of what comes through ch, until ch is closed. It cannot seek: what was received is gone. When the run ends
// otherwise, it has received no more than fits the queue ([Config].Queue) and one record beyond what has been processed.
func Chan[T any](ch <-chan T) Source[T] {
	if ch == nil {
		return nil
	}
	return chanSource[T](ch)
}

type chanSource[T any] <-chan T

func (s chanSource[T]) Seekable() bool { return false }

// Run shows what it has collected before it waits: a record may stay unseen only while there are more.
func (s chanSource[T]) Run(ctx context.Context, c *Collector[T]) error {
	for ctx.Err() == nil {
		v, more, now := s.poll()
		if !now {
			c.Show()
			select {
			case v, more = <-s:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if !more {
			return nil
		}
		if err := c.collectSoon(v); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// poll receives what is there now; more is false once the channel is closed.
func (s chanSource[T]) poll() (v T, more, now bool) {
	select {
	case v, more = <-s:
		return v, more, true
	default:
		return v, false, false
	}
}
