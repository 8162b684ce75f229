package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// families are the payloads that the benchmarks use: one kind for each shape of data. An ack makes up nearly all of a log.
var families = []events.Kind{
	events.KindTaskAcked, events.KindCheckpointTriggered, events.KindCheckpointCompleted, events.KindTaskRegistered,
	events.KindCheckpointRequested, events.KindCheckpointsRetired, events.KindCoordinatorStarted,
}

// ack is a usual one: a chunk, and measures.
const ack = `{"v":1,"kind":"task_acked","at":1764453600000,"data":{"checkpoint":41,"task":"flights-2","attempt":3,"epoch":7,` +
	`"handle":{"chunks":[{"name":"window-1/g17","digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",` +
	`"bytes":48213}]},"measures":{"sync_ms":2,"async_ms":31,"bytes":48213,"records":120000,"start_delay_ms":4}}}`

// jsonAck is the ack as one would write it for encoding/json.
type jsonAck struct {
	V    int    `json:"v"`
	Kind string `json:"kind"`
	At   int64  `json:"at"`
	Data struct {
		Checkpoint int64  `json:"checkpoint"`
		Task       string `json:"task"`
		Attempt    int64  `json:"attempt"`
		Epoch      int64  `json:"epoch"`
		Handle     struct {
			Chunks []struct {
				Name   string `json:"name"`
				Digest string `json:"digest"`
				Bytes  int64  `json:"bytes"`
			} `json:"chunks"`
		} `json:"handle"`
		Measures struct {
			Sync       int64 `json:"sync_ms"`
			Async      int64 `json:"async_ms"`
			Bytes      int64 `json:"bytes"`
			Records    int64 `json:"records"`
			StartDelay int64 `json:"start_delay_ms"`
		} `json:"measures"`
	} `json:"data"`
}

// BenchmarkDecode reports, beside the time, how many times longer encoding/json needs in the same run: x-json to decode the
// same, x-valid only to check the grammar.
func BenchmarkDecode(b *testing.B) {
	b.Run("ack", func(b *testing.B) {
		benchmarkDecode(b, []byte(ack))
		b.ReportMetric(ratio(b, func() error { return json.Unmarshal([]byte(ack), new(jsonAck)) }), "x-json")
	})
	files := wireFiles(b)
	for _, k := range families {
		b.Run(string(k), func(b *testing.B) { benchmarkDecode(b, files[string(k)+".full.json"]) })
	}
}

func benchmarkDecode(b *testing.B, payload []byte) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, err := events.Decode("e", payload); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(ratio(b, func() error {
		if !json.Valid(payload) {
			b.Fatal("not JSON")
		}
		return nil
	}), "x-valid")
}

// BenchmarkEncode writes into a buffer that is large enough.
func BenchmarkEncode(b *testing.B) {
	b.Run("ack", func(b *testing.B) {
		benchmarkEncode(b, []byte(ack))
		var v jsonAck
		if err := json.Unmarshal([]byte(ack), &v); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(ratio(b, func() error {
			_, err := json.Marshal(&v)
			return err
		}), "x-json")
	})
	files := wireFiles(b)
	for _, k := range families {
		b.Run(string(k), func(b *testing.B) { benchmarkEncode(b, files[string(k)+".full.json"]) })
	}
}

func benchmarkEncode(b *testing.B, payload []byte) {
	b.Helper()
	e, err := events.Decode("e", payload)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 2*len(payload))
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, err := e.Encode(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// ratio is how many times longer other takes than one turn of the loop that has just ended.
func ratio(b *testing.B, other func() error) float64 {
	b.Helper()
	own := b.Elapsed()
	start := time.Now()
	for range b.N {
		if err := other(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(start)) / float64(own)
}

// Only what is kept is allocated: the decoder, the event, and each text and list in it. Words of closed lists cost nothing.
func TestDecodeAllocatesOnlyWhatItKeeps(t *testing.T) {
	files := wireFiles(t)
	for name, want := range map[string]float64{
		"task_acked.minimal.json":           3,  // decoder, event, task
		"task_acked.full.json":              12, // and job, the list of chunks (grown once), their 4 texts, inline, joining event
		"task_declined.full.json":           5,
		"checkpoint_triggered.full.json":    10,
		"checkpoint_completed.full.json":    4,
		"checkpoint_failed.full.json":       8,
		"checkpoints_retired.full.json":     7,
		"task_registered.full.json":         6,
		"task_restored.full.json":           4,
		"log_trimmed.full.json":             5,
		"log_gap_found.full.json":           5,
		"coordinator_started.full.json":     12,
		"checkpoint_requested.minimal.json": 3,
	} {
		payload := files[name]
		got := testing.AllocsPerRun(100, func() {
			if _, err := events.Decode("e", payload); err != nil {
				t.Fatal(err)
			}
		})
		if got > want {
			t.Errorf("%s: %v allocations, want at most %v", name, got, want)
		}
	}
	usual := testing.AllocsPerRun(100, func() {
		if _, err := events.Decode("e", []byte(ack)); err != nil {
			t.Fatal(err)
		}
	})
	if usual > 7 { // decoder, event, task, list of chunks, name, digest; and the payload itself, here
		t.Errorf("a usual ack: %v allocations", usual)
	}
}

func TestEncodeIntoALargeBufferAllocatesNothing(t *testing.T) {
	for name, payload := range wireFiles(t) {
		e, err := events.Decode("e", payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		buf := make([]byte, 0, 2*len(payload))
		if got := testing.AllocsPerRun(100, func() { _, _ = e.Encode(buf) }); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
