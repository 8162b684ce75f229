package nexmark_test

import "github.com/tidemark-stream/tidemark/engine/nexmark"

// loop11 keeps the open sessions of each bidder, and a timing wheel with a slot for each millisecond. A session stays in its
// slot while it grows; it is moved when the slot comes up.
type loop11 struct {
	watermark
	emit     func(nexmark.Activity)
	sessions map[int64]*session11 // by bidder; mostly one each
	wheel    []*session11
	now      int64
	free     *session11
}

type session11 struct {
	bidder, first, last int64
	bids                int64      // 0: has become part of another
	other               *session11 // of the same bidder
	next                *session11 // in the slot
}

const gap11 = 10_000

func newLoop11(delay int64, emit func(nexmark.Activity)) *loop11 {
	size := 1
	for int64(size) <= 2*(gap11+delay) {
		size *= 2
	}
	return &loop11{
		watermark: watermark{delay: delay}, emit: emit,
		sessions: map[int64]*session11{}, wheel: make([]*session11, size),
	}
}

func (l *loop11) add(events []nexmark.Event) {
	for i := range events {
		if events[i].Kind() != nexmark.BidKind {
			continue
		}
		b := events[i].Bid()
		if s := l.sessions[b.Bidder]; s != nil && s.other == nil && s.meets(b.Time) {
			s.take(b.Time, b.Time, 1)
		} else {
			l.open(b.Bidder, b.Time, s)
		}
		if now, risen := l.advance(b.Time); risen {
			l.fire(now)
		}
	}
}

func (s *session11) meets(ts int64) bool { return s.first < ts+gap11 && ts < s.last+gap11 }

func (s *session11) take(first, last, bids int64) {
	s.first, s.last = min(s.first, first), max(s.last, last)
	s.bids += bids
}

// open adds a bid to the bidder's sessions, which may be none or several.
func (l *loop11) open(bidder, ts int64, all *session11) {
	var home *session11
	for at := &all; *at != nil; {
		s := *at
		switch {
		case !s.meets(ts):
		case home == nil:
			home = s
		default:
			home.take(s.first, s.last, s.bids)
			*at, s.bids = s.other, 0
			continue
		}
		at = &s.other
	}
	if home != nil {
		home.take(ts, ts, 1)
	} else {
		if home = l.free; home != nil {
			l.free = home.next
		} else {
			home = new(session11)
		}
		*home = session11{bidder: bidder, first: ts, last: ts, bids: 1, other: all}
		all = home
		l.schedule(home)
	}
	l.sessions[bidder] = all
}

func (l *loop11) schedule(s *session11) {
	slot := &l.wheel[(s.last+gap11)&int64(len(l.wheel)-1)]
	s.next, *slot = *slot, s
}

func (l *loop11) fire(now int64) {
	for l.now = max(l.now, now-int64(len(l.wheel))); l.now < now; {
		l.now++
		slot := &l.wheel[l.now&int64(len(l.wheel)-1)]
		s := *slot
		for *slot = nil; s != nil; {
			next := s.next
			switch {
			case s.bids > 0 && s.last+gap11 > l.now:
				l.schedule(s)
			case s.bids > 0:
				l.close(s)
				fallthrough
			default:
				s.next, l.free = l.free, s
			}
			s = next
		}
	}
}

// close emits a session and takes it off the bidder's list.
func (l *loop11) close(s *session11) {
	l.emit(nexmark.Activity{Bidder: s.bidder, Bids: s.bids, Start: s.first, End: s.last + gap11})
	all := l.sessions[s.bidder]
	if all == s && s.other == nil {
		delete(l.sessions, s.bidder)
		return
	}
	for at := &all; *at != nil; at = &(*at).other {
		if *at == s {
			*at = s.other
			break
		}
	}
	l.sessions[s.bidder] = all
}

func (l *loop11) end() {
	for bidder, s := range l.sessions {
		for ; s != nil; s = s.other {
			l.emit(nexmark.Activity{Bidder: bidder, Bids: s.bids, Start: s.first, End: s.last + gap11})
		}
	}
	clear(l.sessions)
}
