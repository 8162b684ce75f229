package engine

// gate is the receiving end of an exchange for one task: a channel from each sending task, and the watermark of them all.
type gate[K comparable, T any] struct {
	x        *exchange[K, T]
	task     *task
	out      *keyedOutput[K, T]
	channels []channel[K, T]
	merge    merge
}

// channel is what comes from one task. All but the ring is guarded by the receiving task's lock.
type channel[K comparable, T any] struct {
	ring *ring[element[K, T]]
	head uint64
	// restored comes before the ring: what was under way at the cut.
	restored []element[K, T]
	ended    bool // the end of the input has come through the ring, behind which nothing does
}

// absorb puts what the ring holds behind what was restored, when nothing runs.
func (c *channel[K, T]) absorb() {
	for tail := c.ring.tail.Load(); c.head != tail; c.head++ {
		c.restored = append(c.restored, c.ring.slots[c.head&c.ring.mask])
	}
	c.ring.free(c.head)
}

func newGate[K comparable, T any](x *exchange[K, T], t *task, senders int) *gate[K, T] {
	g := &gate[K, T]{x: x, task: t, channels: make([]channel[K, T], senders), merge: newMerge(senders)}
	queue := min(exchangeQueue, t.cfg.Queue)
	if t.exec.parallelism != t.cfg.Parallelism {
		queue = 1 // it only settles, for which no ring is used
	}
	for i := range g.channels {
		g.channels[i].ring = newRing[element[K, T]](queue, t.bell)
	}
	t.announcers = append(t.announcers, g)
	return g
}

func (g *gate[K, T]) ready() bool {
	for i := range g.channels {
		if c := &g.channels[i]; len(c.restored) > 0 || c.ring.tail.Load() != c.head {
			return true
		}
	}
	return false
}

// quiet says that nothing waits.
func (g *gate[K, T]) quiet() bool { return !g.ready() }

func (g *gate[K, T]) absent() bool { return false }

// drain gives each channel its turn.
func (g *gate[K, T]) drain(t *task) error {
	for i := range g.channels {
		c := &g.channels[i]
		tail := c.ring.tail.Load()
		if len(c.restored) == 0 && tail == c.head {
			continue
		}
		err := t.protect(func() error { return g.process(i, c, min(tail-c.head, chunk)) })
		c.ring.free(c.head)
		if err != nil {
			return err
		}
	}
	return nil
}

// process puts n elements through the operators, and before them all that was restored.
func (g *gate[K, T]) process(channel int, c *channel[K, T], n uint64) error {
	for len(c.restored) > 0 {
		e := c.restored[0]
		if err := g.element(channel, &e); err != nil {
			return err
		}
		c.restored = c.restored[1:]
		if err := g.task.between(); err != nil {
			return err
		}
	}
	for i := range n {
		e := &c.ring.slots[c.head&c.ring.mask]
		if err := g.element(channel, e); err != nil {
			return err
		}
		c.ended = c.ended || e.Kind == elementWatermark && e.TS == MaxWatermark
		c.head++
		if i%publishEvery == publishEvery-1 {
			g.task.publish()
		}
		if err := g.task.between(); err != nil {
			return err
		}
	}
	return nil
}

// element is one record's body, or that of a signal.
func (g *gate[K, T]) element(channel int, e *element[K, T]) error {
	t := g.task
	t.at = g.x.op
	t.begin(position{number: e.Source, record: e.Record, offset: e.Offset})
	if e.Kind == elementRecord {
		if len(t.clocked) > 0 {
			if err := t.tick(); err != nil {
				return err
			}
			t.at = g.x.op
		}
		return g.out.keyed(e.Key, e.Value, e.TS)
	}
	switch e.Kind {
	case elementWatermark:
		return g.merge.setMark(channel, e.TS, g.out)
	case elementIdle, elementActive:
		return g.merge.setIdle(channel, e.Kind == elementIdle, g.out)
	default:
		return g.out.recordTime(e.TS)
	}
}

// finish says whether every sender has ended, and what it sent been processed. It is not enough that the watermark says so, which
// may be that of the cut: a sender says so again then, and would wait for ever for space that nobody makes.
func (g *gate[K, T]) finish(*task) (bool, error) {
	for i := range g.channels {
		if !g.channels[i].ended {
			return false, nil
		}
	}
	return !g.ready(), nil
}

func (g *gate[K, T]) announce() error { return g.merge.announce(g.out) }
