package engine

import "cmp"

// Count emits, for each record, how many its key has had.
func Count[K comparable, T any](k KeyedStream[K, T]) Stream[int64] {
	return running(k, "count", func(n int64, _ bool, _ T) int64 { return n + 1 })
}

// Min emits, for each record, the least that number has found in the records of its key.
func Min[K comparable, T any, N cmp.Ordered](k KeyedStream[K, T], number func(T) N) Stream[N] {
	k.graph().need(k.op, "number function", number != nil)
	return running(k, "min", func(least N, some bool, v T) N {
		if n := number(v); !some || n < least {
			return n
		}
		return least
	})
}

// Max emits, for each record, the greatest that number has found in the records of its key.
func Max[K comparable, T any, N cmp.Ordered](k KeyedStream[K, T], number func(T) N) Stream[N] {
	k.graph().need(k.op, "number function", number != nil)
	return running(k, "max", func(greatest N, some bool, v T) N {
		if n := number(v); !some || n > greatest {
			return n
		}
		return greatest
	})
}

// running keeps one value per key under the given name and emits it after each record; some says that there was one.
func running[K comparable, T, V any](k KeyedStream[K, T], name string, next func(old V, some bool, v T) V) Stream[V] {
	return Process(k, func(op *Keyed[K]) ProcessFunc[K, T, V] {
		kept := ValueOf[V](op, name)
		return func(_ Context, _ K, v T, emit func(V)) error {
			old, some := kept.Lookup()
			val := next(old, some, v)
			kept.Put(val)
			emit(val)
			return nil
		}
	})
}
