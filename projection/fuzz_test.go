package projection_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// FuzzFold folds arbitrary logs, one payload a line; what does not decode is skipped, as the reader does.
func FuzzFold(f *testing.F) {
	for i := range 8 {
		var log []byte
		for _, e := range rapid.Custom(drawLog).Example(i) {
			var err error
			if log, err = e.env.Encode(log); err != nil {
				continue
			}
			log = append(log, '\n')
		}
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		s, again := projection.New("orders"), projection.New("orders")
		timing := &projection.Timing{}
		pos := events.Position{}
		for line := range bytes.Lines(log) {
			pos.Ms++
			e, err := events.Decode("e", line)
			if err != nil {
				s.Skip(pos)
				again.Skip(pos)
				continue
			}
			o := s.Apply(pos, e)
			again.Apply(pos, e)
			timing.Observe(time.Duration(pos.Ms), s, e, o)
			for _, d := range projection.Decide(s, timing, time.Duration(pos.Ms), projection.Gates{}) {
				d.Key()
			}
			projection.NextDue(s, timing, time.Duration(pos.Ms))
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		b := saved(t, s)
		if !bytes.Equal(b, saved(t, again)) {
			t.Fatal("two folds of one log differ")
		}
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
	})
}
