package projection

import (
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// DigestSet is a set of chunk names.
type DigestSet map[events.Digest]struct{}

// Has reports whether d is in the set.
func (d DigestSet) Has(digest events.Digest) bool {
	_, ok := d[digest]
	return ok
}

// References collects the chunks that must stay: those of the live and completed checkpoints and savepoints (a pinned one
// is always among them) and of the end states of finished tasks. Checkpoints in except are left out. Waste does not count.
// It walks every handle: about 100 ns per chunk; with many tasks call it on a [State.Clone] outside of the loop.
func (s *State) References(except ...events.CheckpointID) DigestSet {
	set := DigestSet{}
	for _, list := range [][]*checkpoint{s.live, s.completed, s.savepoints} {
		for _, c := range list {
			if !slices.Contains(except, c.sum.ID) {
				c.chunks(func(ref events.ChunkRef) bool { set[ref.Digest] = struct{}{}; return true })
			}
		}
	}
	for _, t := range s.finishedTasks() {
		for _, ref := range t.end.ack.Handle.Chunks {
			set[ref.Digest] = struct{}{}
		}
	}
	return set
}

// Referenced reports whether one chunk must stay; see [State.References]. It stops at the first reference.
func (s *State) Referenced(digest events.Digest) bool {
	found := false
	look := func(ref events.ChunkRef) bool { found = ref.Digest == digest; return !found }
	for _, list := range [][]*checkpoint{s.live, s.completed, s.savepoints} {
		for _, c := range list {
			if c.chunks(look); found {
				return true
			}
		}
	}
	for _, t := range s.finishedTasks() {
		if slices.ContainsFunc(t.end.ack.Handle.Chunks, func(r events.ChunkRef) bool { return r.Digest == digest }) {
			return true
		}
	}
	return false
}

// Garbage lists the chunks of checkpoints in waste that nothing which stays refers to, sorted, each once: those that are
// to be given an end of life before the ids are logged as discarded. Ids that are not in waste are ignored.
func (s *State) Garbage(ids ...events.CheckpointID) []events.ChunkRef {
	stays := s.References()
	seen := DigestSet{}
	var list []events.ChunkRef
	for _, c := range s.waste {
		if !slices.Contains(ids, c.sum.ID) {
			continue
		}
		c.chunks(func(ref events.ChunkRef) bool {
			if !stays.Has(ref.Digest) && !seen.Has(ref.Digest) {
				seen[ref.Digest] = struct{}{}
				list = append(list, ref)
			}
			return true
		})
	}
	slices.SortFunc(list, func(a, b events.ChunkRef) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return list
}

// chunks visits every chunk of the acked and carried handles until visit returns false.
func (c *checkpoint) chunks(visit func(events.ChunkRef) bool) {
	for _, slots := range [][]slot{c.slots, c.carried} {
		for i := range slots {
			if slots[i].ack == nil {
				continue
			}
			for _, ref := range slots[i].ack.Handle.Chunks {
				if !visit(ref) {
					return
				}
			}
		}
	}
}
