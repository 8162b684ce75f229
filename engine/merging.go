package engine

import (
	"cmp"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// cover is what w comes to together with the key's open windows that it intersects. Those are apart from each other, so
// growing leads into no further one.
func (c *cells[K, Acc]) cover(key K, w window.Window) window.Window {
	all := w
	for _, s := range c.sessions[key] {
		if meets(s.Window, w) {
			all = all.Cover(s.Window)
		}
	}
	return all
}

// meets says whether two windows of a key become one. Two windows of no length at one moment do too.
func meets(a, b window.Window) bool { return a == b || a.Intersects(b) }

// merge makes one bucket, with the window w, of all buckets of the key that w covers. The oldest takes in the others in the
// order of their creation.
func (o *triggerOp[K, T, Acc, Out]) merge(key K, w window.Window) {
	o.hits = o.hits[:0]
	for _, s := range o.sessions[key] {
		if meets(s.Window, w) {
			o.hits = append(o.hits, s)
		}
	}
	if len(o.hits) == 0 || len(o.hits) == 1 && o.hits[0].Window == w {
		return
	}
	slices.SortFunc(o.hits, func(a, b session) int { return cmp.Compare(a.seq, b.seq) })
	oldest := bucketKey[K]{key, o.hits[0].Start, o.hits[0].End}
	b, _ := o.table.Take(oldest)
	c := o.ask(bucketKey[K]{key, w.Start, w.End}, &b)
	for _, s := range o.hits[1:] {
		k := bucketKey[K]{key, s.Start, s.End}
		other, _ := o.table.Take(k)
		o.trigger.OnMerge(c, other.Memory)
		c.WakeEventTime = min(c.WakeEventTime, other.EventTime)
		c.WakeProcessingTime = min(c.WakeProcessingTime, other.Processing)
		o.join(&b, &other)
		o.drop(key, s.seq)
	}
	b.Memory, b.EventTime, b.Processing = c.Memory, c.WakeEventTime, c.WakeProcessingTime
	ended := b.Ended
	b.Ended = o.now() >= w.End
	for i := range o.sessions[key] {
		if o.sessions[key][i].seq == b.Seq {
			o.sessions[key][i].Window = w
		}
	}
	grown := bucketKey[K]{key, w.Start, w.End}
	o.table.Put(grown, b)
	// What waits for the end of an open session moves on with it when it comes up. All else is put in its place at once.
	if b.Ended || ended || w.Start < oldest.Start {
		o.scheduleEnd(grown, &b)
	}
	o.scheduleAsked(grown, &b)
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

// drop takes a session that is part of another now off the list.
func (o *triggerOp[K, T, Acc, Out]) drop(key K, seq uint64) {
	o.sessions[key] = slices.DeleteFunc(o.sessions[key], func(s session) bool { return s.seq == seq })
}
