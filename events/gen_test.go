package events_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
)

// Generators of every event, with each optional field present or absent, integers up to their ends, and text of any
// script. What they make is valid, so that it must survive a round trip.

func genName[T ~string]() *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		return T(rapid.StringMatching(`[A-Za-z0-9._-]{1,12}`).Draw(t, "name"))
	})
}

func optional[T any](g *rapid.Generator[T], absent T) *rapid.Generator[T] {
	return rapid.OneOf(rapid.Just(absent), g)
}

func genText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{
		"plain", `"quoted\"`, "line\nbreak\ttab\r\x00\x1f", "\u007f\u2028\u2029<&>", "größer 流 😀", "\ufffd",
		strings.Repeat("x", 7) + "é" + strings.Repeat("y", 9),
	}))
}

func genInt[T ~int64](least int64) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		return T(rapid.OneOf(
			rapid.Int64Min(least),
			rapid.SampledFrom([]int64{least, least + 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}),
		).Draw(t, "int"))
	})
}

func genPosition() *rapid.Generator[events.Position] {
	return rapid.Custom(func(t *rapid.T) events.Position {
		part := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, math.MaxUint64 - 1, math.MaxUint64}))
		return events.Position{Ms: part.Draw(t, "ms"), Seq: part.Draw(t, "seq")}
	})
}

// genUnknown makes members whose names no version uses.
func genUnknown() *rapid.Generator[events.Unknown] {
	return rapid.Custom(func(t *rapid.T) events.Unknown {
		values := rapid.SampledFrom([]string{
			`null`, `true`, `-1.5e+3`, `"t"`, `"\u00e9\ud83d\ude00"`, `[]`, `{}`, `[1, {"a" : [ ]}]`, `{"v":2,"kind":"x"}`,
			strings.Repeat("[", 40) + strings.Repeat("]", 40),
		})
		var u []string
		for i := range rapid.IntRange(0, 2).Draw(t, "unknown members") {
			u = append(u, fmt.Sprintf(`"x_%d\n%s":%s`, i, "é", values.Draw(t, "value")))
		}
		if u == nil {
			return nil // as Decode leaves it
		}
		return events.Unknown(strings.Join(u, ","))
	})
}

func genDigest() *rapid.Generator[events.Digest] {
	return rapid.Custom(func(t *rapid.T) events.Digest {
		return events.Digest(rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "digest"))
	})
}

func genHandle() *rapid.Generator[events.StateHandle] {
	return rapid.Custom(func(t *rapid.T) events.StateHandle {
		chunk := rapid.Custom(func(t *rapid.T) events.ChunkRef {
			return events.ChunkRef{
				Name:    genText().Filter(func(s string) bool { return s != "" }).Draw(t, "chunk"),
				Digest:  genDigest().Draw(t, "digest"),
				Bytes:   genInt[int64](0).Draw(t, "bytes"),
				Unknown: genUnknown().Draw(t, "unknown"),
			}
		})
		inline := rapid.SampledFrom([]string{"", `0`, `false`, `"é\n"`, `{"n":9223372036854775807}`, `[ null , "\ud800" ]`})
		h := events.StateHandle{
			Chunks:  listOf(chunk, 0).Draw(t, "chunks"),
			Unknown: genUnknown().Draw(t, "unknown"),
		}
		if in := inline.Draw(t, "inline"); in != "" {
			h.Inline = []byte(in)
		}
		return h
	})
}

// listOf makes lists of least to 4 elements; an empty one is nil, as Decode leaves it.
func listOf[T any](g *rapid.Generator[T], least int) *rapid.Generator[[]T] {
	return rapid.Map(rapid.SliceOfN(g, least, 4), func(l []T) []T {
		if len(l) == 0 {
			return nil
		}
		return l
	})
}

func genMeasures() *rapid.Generator[events.Measures] {
	return rapid.Custom(func(t *rapid.T) events.Measures {
		n := optional(genInt[int64](0), 0)
		return events.Measures{
			Sync: n.Draw(t, "sync"), Async: n.Draw(t, "async"), Bytes: n.Draw(t, "bytes"), Records: n.Draw(t, "records"),
			StartDelay: n.Draw(t, "start delay"), Unknown: genUnknown().Draw(t, "unknown"),
		}
	})
}

func genTasks(least int) *rapid.Generator[[]events.TaskID] {
	return rapid.Custom(func(t *rapid.T) []events.TaskID {
		l := rapid.SliceOfNDistinct(genName[events.TaskID](), least, 4, rapid.ID).Draw(t, "tasks")
		slices.Sort(l)
		if len(l) == 0 {
			return nil
		}
		return l
	})
}

func genPolicy() *rapid.Generator[events.Policy] {
	return rapid.Custom(func(t *rapid.T) events.Policy {
		p := events.Policy{
			Interval:      genInt[int64](0).Draw(t, "interval"),
			MinPause:      genInt[int64](0).Draw(t, "min pause"),
			Timeout:       genInt[int64](math.MinInt64).Draw(t, "timeout"),
			MaxConcurrent: genInt[int64](1).Draw(t, "max concurrent"),
			Retain:        genInt[int64](1).Draw(t, "retain"),
			QueueLimit:    genInt[int64](1).Draw(t, "queue limit"),
			Unknown:       genUnknown().Draw(t, "unknown"),
		}
		if p.Tasks = genTasks(0).Draw(t, "tasks"); p.Tasks == nil {
			p.Count = genInt[int64](1).Draw(t, "count")
		}
		return p
	})
}

func genTriggered(t *rapid.T) *events.CheckpointTriggered {
	e := &events.CheckpointTriggered{
		Epoch:        genInt[events.Epoch](1).Draw(t, "epoch"),
		Checkpoint:   genInt[events.CheckpointID](0).Draw(t, "checkpoint"),
		Type:         rapid.SampledFrom([]events.CheckpointType{events.TypeCheckpoint, events.TypeSavepoint}).Draw(t, "type"),
		Request:      optional(genName[events.RequestID](), "").Draw(t, "request"),
		Cause:        genText().Draw(t, "cause"),
		Timeout:      genInt[int64](math.MinInt64).Draw(t, "timeout"),
		JoiningEvent: genText().Draw(t, "joining event"),
		Unknown:      genUnknown().Draw(t, "unknown"),
	}
	for _, task := range genTasks(0).Draw(t, "tasks") {
		e.Tasks = append(e.Tasks, events.TaskAttempt{
			Task: task, Attempt: genInt[events.Attempt](1).Draw(t, "attempt"), Unknown: genUnknown().Draw(t, "unknown"),
		})
	}
	if e.Tasks == nil {
		e.Count = genInt[int64](1).Draw(t, "count")
	}
	return e
}
