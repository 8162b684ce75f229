package engine

import (
	"cmp"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// session is an open window of a key that may grow.
type session struct {
	window.Window
	seq uint64
}

// meets says whether two windows of a key become one. Two windows of no length at one moment do too.
func meets(a, b window.Window) bool { return a == b || a.Intersects(b) }

// session finds an open window of a key.
func (c *cells[K, Acc]) session(key K, seq uint64) (bucketKey[K], *cell[Acc]) {
	k := placed(key, 0)
	b := c.table.Ref(k)
	if b == nil || b.Seq == seq {
		return k, b
	}
	for n := b.Others; k.Start < n; {
		k.Start++
		if b := c.table.Ref(k); b != nil && b.Seq == seq {
			return k, b
		}
	}
	return k, nil
}

// leave removes a session; the last of its key takes its place.
func (c *cells[K, Acc]) leave(k bucketKey[K]) {
	first := c.table.Ref(placed(k.Key, 0))
	last := first.Others
	first.Others--
	moved, _ := c.table.Take(placed(k.Key, last))
	if k.Start == last {
		return
	}
	if k.Start == 0 {
		moved.Others = last - 1
	}
	c.table.Put(k, moved)
}

// merged adds v to a window of its own and all that this meets, and says whether it came too late. Mostly it meets the only
// session of its key, which grows where it is.
func (o *triggerOp[K, T, Acc, Out]) merged(hash uint64, key K, w window.Window, v T, ts int64) (late bool, err error) {
	k := placed(key, 0)
	b := o.table.RefHashed(hash, k)
	if b == nil || b.Others > 0 || !meets(b.Window, w) {
		if k, b = o.among(k, b, w); b == nil {
			return true, nil
		}
		return false, o.gather(k, b, v, ts)
	}
	w = w.Cover(b.Window)
	if o.expiry(w) <= o.now() {
		return true, nil
	}
	if w != b.Window {
		o.grow(k, b, w)
	}
	return false, o.gather(k, b, v, ts)
}

// among finds or makes the session for the window w among those of a key, of which b is the first. It gives nil if w is too
// late with all that it meets. Sessions are apart from each other, so growing leads into no further one.
func (o *triggerOp[K, T, Acc, Out]) among(k bucketKey[K], b *cell[Acc], w window.Window) (bucketKey[K], *cell[Acc]) {
	all, n := w, int64(0)
	o.hits = o.hits[:0]
	if b != nil {
		n = b.Others + 1
	}
	for place := range n {
		if s := o.table.Ref(placed(k.Key, place)); meets(s.Window, w) {
			o.hits = append(o.hits, session{s.Window, s.Seq})
			all = all.Cover(s.Window)
		}
	}
	switch {
	case o.expiry(all) <= o.now():
		return k, nil
	case len(o.hits) == 0:
		if n > 0 {
			o.table.Ref(k).Others++
		}
		k.Start = n
		b, _ = o.table.Upsert(k)
		o.open(k, b, all)
	case len(o.hits) == 1:
		if k, b = o.session(k.Key, o.hits[0].seq); b.Window != all {
			o.grow(k, b, all)
		}
	default:
		k, b = o.merge(k.Key, all)
	}
	return k, b
}

// grow makes a session larger. What waits for its end moves on with it when it comes up, which is early enough unless its
// window comes before others then.
func (o *triggerOp[K, T, Acc, Out]) grow(k bucketKey[K], b *cell[Acc], w window.Window) {
	ended, start := b.Ended, b.Window.Start
	b.Window, b.Ended = w, o.now() >= w.End
	if b.Ended || ended || w.Start < start {
		o.scheduleEnd(k, b)
	}
	if w.Start < start {
		o.scheduleAsked(k, b)
	}
}

// merge makes one session with the window w of those in hits. The oldest takes in the others in the order of their creation.
func (o *triggerOp[K, T, Acc, Out]) merge(key K, w window.Window) (bucketKey[K], *cell[Acc]) {
	slices.SortFunc(o.hits, func(a, b session) int { return cmp.Compare(a.seq, b.seq) })
	_, at := o.session(key, o.hits[0].seq)
	b := *at
	c := o.ask(w, &b)
	for _, s := range o.hits[1:] {
		k, other := o.session(key, s.seq)
		o.trigger.OnMerge(c, other.Memory)
		c.WakeEventTime = min(c.WakeEventTime, other.EventTime)
		c.WakeProcessingTime = min(c.WakeProcessingTime, other.Processing)
		o.join(&b, other)
		o.leave(k)
	}
	b.Memory, b.EventTime, b.Processing = c.Memory, c.WakeEventTime, c.WakeProcessingTime
	b.Window, b.Ended = w, o.now() >= w.End
	k, at := o.session(key, b.Seq)
	b.Others = at.Others
	*at = b
	o.scheduleEnd(k, at)
	o.scheduleAsked(k, at)
	return k, at
}

// join puts the content of other into b.
func (o *triggerOp[K, T, Acc, Out]) join(b, other *cell[Acc]) {
	if other.N == 0 {
		return
	}
	if b.N == 0 {
		b.Acc, b.N, b.Last = other.Acc, other.N, other.Last
		return
	}
	b.Acc = o.fold.merge(b.Acc, other.Acc)
	b.N += other.N
	b.Last = max(b.Last, other.Last)
}
