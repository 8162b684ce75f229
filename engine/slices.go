package engine

import "slices"

// cut gives the slices, and of a window that is being emitted what is still to come: as buckets of the whole window. It has
// none of those but where a function behind the window cuts.
func (o *slicedOp[K, T, Acc, Out]) cut(id int64) ([]Item, error) {
	for _, t := range o.left {
		o.table.Put(o.whole(t.key), t.bucket)
	}
	list, err := o.buckets.cut(id)
	for _, t := range o.left {
		o.table.Delete(o.whole(t.key))
	}
	return list, err
}

// whole is the key of a total in a cut.
func (o *slicedOp[K, T, Acc, Out]) whole(key K) bucketKey[K] {
	return bucketKey[K]{key, o.emitted.Start, o.emitted.End}
}

// load takes nothing from subtasks with different watermarks: it could not tell which windows have been emitted.
func (o *slicedOp[K, T, Acc, Out]) load(items *items, mode RestoreMode) (func(), error) {
	return o.buckets.loadWith(items, mode, windowTail{kind: o.kind, wm: MaxWatermark, level: true}, o.index)
}

// index rebuilds the order of emission from the buckets.
func (o *slicedOp[K, T, Acc, Out]) index() {
	all := o.inOrder()
	o.half = nil
	all = slices.DeleteFunc(all, func(n numbered[K]) bool {
		whole := n.key.window().Size() == o.size
		if whole {
			o.half = append(o.half, n.key)
		}
		return whole
	})
	o.rebuild(all)
	if len(o.half) > 0 {
		o.due = MinWatermark
	}
}

// finishHalf emits what was left of a window at the cut that was adopted.
func (o *slicedOp[K, T, Acc, Out]) finishHalf() error {
	for len(o.half) > 0 {
		k := o.half[0]
		o.half = o.half[1:]
		if err := o.fire(k); err != nil {
			return err
		}
	}
	return nil
}
