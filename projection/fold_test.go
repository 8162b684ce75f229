package projection_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// drawLog makes a log by letting the machine run, so that later events fit what came before.
func drawLog(t *rapid.T) []entry {
	m := newMachine()
	for _, e := range opening() {
		if err := m.fold(e); err != nil {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(0, 80).Draw(t, "events") {
		e := drawEvent(t, m.state)
		if list := projection.Decide(m.state, m.timing, m.now, projection.Gates{}); len(list) > 0 && rapid.Bool().Draw(t, "act") {
			e = effect(m.state, list[0])
		}
		if err := m.fold(e); err != nil {
			t.Fatal(err)
		}
	}
	return m.log
}

func foldLog(log []entry) *projection.State {
	s := projection.New("orders")
	for _, e := range log {
		s.Apply(e.pos, e.env)
	}
	return s
}

func TestDoublingEveryEventGivesTheSameFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		twice := projection.New("orders")
		for _, e := range log {
			twice.Apply(e.pos, e.env)
			twice.Apply(e.pos.Next(), e.env)
			if err := twice.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if once := foldLog(log); !bytes.Equal(once.Essence(true), twice.Essence(true)) {
			t.Fatalf("once:\n%q\ntwice:\n%q", dump(once), dump(twice))
		}
	})
}

func TestAFoldThatIsSavedAndRestoredAtEveryPositionIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		want := projection.New("orders")
		got := projection.New("orders")
		for _, e := range log {
			want.Apply(e.pos, e.env)
			got.Apply(e.pos, e.env)
			b := saved(t, got)
			if !bytes.Equal(b, saved(t, want)) {
				t.Fatalf("after %s:\n%q\nwant\n%q", e.env.Kind(), dump(got), dump(want))
			}
			got = projection.New("orders")
			if err := got.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
			if got.Position() != e.pos {
				t.Fatalf("restored at %s, saved at %s", got.Position(), e.pos)
			}
		}
	})
}

func TestReplayingWhatWasFoldedChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		s := foldLog(log)
		want := saved(t, s)
		from := rapid.IntRange(0, len(log)-1).Draw(t, "from")
		for _, e := range log[from:] {
			if o := s.Apply(e.pos, e.env); o.Kind != projection.Replayed {
				t.Fatalf("%s at %s again is %s", e.env.Kind(), e.pos, o.Kind)
			}
		}
		if !bytes.Equal(saved(t, s), want) {
			t.Fatal("a replay changed the state")
		}
	})
}

func TestACloneIsNotTouchedByWhatTheOriginalFolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		at := rapid.IntRange(0, len(log)).Draw(t, "at")
		s := foldLog(log[:at])
		copied := s.Clone()
		want := saved(t, copied)
		for _, e := range log[at:] {
			s.Apply(e.pos, e.env)
		}
		if !bytes.Equal(saved(t, copied), want) {
			t.Fatal("the clone changed")
		}
		for _, e := range log[at:] {
			copied.Apply(e.pos, e.env)
		}
		if !bytes.Equal(saved(t, copied), saved(t, s)) {
			t.Fatal("the clone folds otherwise")
		}
	})
}

func TestADamagedFoldIsRefusedAndTheStateStaysAsItWas(t *testing.T) {
	log := rapid.Custom(drawLog).Example(3)
	good := saved(t, foldLog(log))
	reseal := func(b []byte) []byte {
		return binary.BigEndian.AppendUint32(bytes.Clone(b), crc32.ChecksumIEEE(b))
	}
	body := good[:len(good)-4]
	other := bytes.Clone(body)
	other[6] = 99 // the version, after the magic
	for _, c := range []struct {
		name string
		job  events.JobID
		b    []byte
		want error
	}{
		{"no bytes at all", "orders", nil, projection.ErrFoldCorrupt},
		{"foreign bytes", "orders", []byte("REDIS0011 and more"), projection.ErrFoldCorrupt},
		{"a flipped bit", "orders", append(append([]byte{}, good[:40]...), append([]byte{good[40] ^ 1}, good[41:]...)...), projection.ErrFoldCorrupt},
		{"cut short", "orders", good[:len(good)/2], projection.ErrFoldCorrupt},
		{"cut short under a right checksum", "orders", reseal(body[:len(body)/2]), projection.ErrFoldCorrupt},
		{"more behind it under a right checksum", "orders", reseal(append(bytes.Clone(body), 0)), projection.ErrFoldCorrupt},
		{"another version under a right checksum", "orders", reseal(other), projection.ErrFoldVersion},
		{"another version under a wrong checksum", "orders", other, projection.ErrFoldVersion},
		{"another job", "payments", good, projection.ErrFoldJob},
		{"only the magic", "orders", []byte("tmfold"), projection.ErrFoldCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := projection.New(c.job)
			before := saved(t, s)
			if err := s.UnmarshalBinary(c.b); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if !bytes.Equal(saved(t, s), before) {
				t.Error("the state changed")
			}
		})
	}
	if err := projection.New("").UnmarshalBinary(good); err != nil {
		t.Errorf("a state for any job refuses the fold: %v", err)
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	for i := range 5 {
		b := saved(f, foldLog(rapid.Custom(drawLog).Example(i)))
		f.Add(b[7 : len(b)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := binary.AppendUvarint([]byte("tmfold"), projection.FoldVersion)
		b = append(b, body...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		s := projection.New("")
		if err := s.UnmarshalBinary(b); err != nil {
			if !errors.Is(err, projection.ErrFoldCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again := projection.New("")
		if err := again.UnmarshalBinary(saved(t, s)); err != nil {
			t.Fatal(err)
		}
		dump(s)
		s.References()
		projection.Decide(s, projection.NewTiming(0, s), 0, projection.Gates{})
		for _, e := range opening() { // whatever was loaded, it can go on
			s.Apply(s.Position().Next(), events.Envelope{ID: "e", Event: e})
		}
	})
}

func TestACloneStillHasWhatTheOriginalRetires(t *testing.T) {
	f := newFeed(t, byCount(1))
	for id := range events.CheckpointID(2) {
		f.want(&events.CheckpointTriggered{Epoch: 1, Checkpoint: id, Type: events.TypeCheckpoint, Count: 1}, projection.Applied)
		f.want(&events.TaskAcked{Checkpoint: id, Task: "a", Epoch: 1}, projection.Completing)
		f.want(&events.CheckpointCompleted{Epoch: 1, Checkpoint: id}, projection.Applied)
	}
	copied := f.Clone()
	f.want(&events.CheckpointsRetired{Epoch: 1, Checkpoints: []events.CheckpointID{0}}, projection.Applied)
	if c, _ := copied.Checkpoint(0); c.Phase != projection.PhaseCompleted || len(copied.Completed()) != 2 {
		t.Errorf("the clone has %d completed, and checkpoint 0 is %s", len(copied.Completed()), c.Phase)
	}
}
