package state_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// What a table costs, beside a plain Go map that does the same. Both run in turn in each iteration, so that what else the
// machine does hits both. A table hashes in the format of the snapshots, keeps what a cut shares, and is split into 128
// groups; the map does none of that.

const benchGroups = 128

// versus reports nanoseconds per operation, and how many times the floor that is.
func versus(b *testing.B, ops int, ours, floor func()) {
	var spent, least time.Duration
	rounds := 0
	for b.Loop() {
		start := time.Now()
		ours()
		middle := time.Now()
		floor()
		spent += middle.Sub(start)
		least += time.Since(middle)
		rounds++
	}
	b.ReportMetric(0, "ns/op") // of both together: says nothing
	b.ReportMetric(float64(spent.Nanoseconds())/float64(rounds*ops), "ns/key")
	b.ReportMetric(float64(spent)/float64(least), "x-map")
}

// shuffled gives the numbers below n in a fixed random order.
func shuffled(n int) []int64 {
	keys := make([]int64, n)
	for i, k := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		keys[i] = int64(k)
	}
	return keys
}

func names(keys []int64) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = "sensor-" + strconv.FormatInt(k, 10)
	}
	return list
}

func benchUpsert[K comparable](b *testing.B, keys []K) {
	table, plain := newTable[K, int64](b, benchGroups), make(map[K]int64)
	for _, k := range keys {
		table.Put(k, 1)
		plain[k] = 1
	}
	const batch = 1000
	at := 0
	versus(b, batch,
		func() {
			for _, k := range keys[at : at+batch] {
				p, _ := table.Upsert(k)
				*p++
			}
		},
		func() {
			for _, k := range keys[at : at+batch] {
				plain[k]++
			}
			at = (at + batch) % len(keys)
		})
}

func BenchmarkUpsert(b *testing.B) {
	b.Run("int64/1k", func(b *testing.B) { benchUpsert(b, shuffled(1000)) })
	b.Run("int64/1M", func(b *testing.B) { benchUpsert(b, shuffled(1_000_000)) })
	b.Run("string/1k", func(b *testing.B) { benchUpsert(b, names(shuffled(1000))) })
	b.Run("string/1M", func(b *testing.B) { benchUpsert(b, names(shuffled(1_000_000))) })
}

// Windows: the oldest key goes, a new one comes, and so many are there at any time.
func BenchmarkInsertAndDelete(b *testing.B) {
	for _, live := range []int64{1000, 100_000} {
		b.Run(strconv.FormatInt(live, 10), func(b *testing.B) {
			table, plain := newTable[int64, int64](b, benchGroups), make(map[int64]int64)
			for k := range live {
				table.Put(k, k)
				plain[k] = k
			}
			const batch = 1000
			at := int64(0)
			versus(b, batch,
				func() {
					for k := at; k < at+batch; k++ {
						table.Put(k+live, k)
						table.Delete(k)
					}
				},
				func() {
					for k := at; k < at+batch; k++ {
						plain[k+live] = k
						delete(plain, k)
					}
					at += batch
				})
		})
	}
}

// The windows of one key share its hash: 64 of them for each of 1000 keys.
func BenchmarkUpsertWindows(b *testing.B) {
	type bucket struct{ Key, Start int64 }
	vals, hash := mustCodec[int64](b), state.Hasher(mustCodec[int64](b))
	table := state.NewTable(benchGroups, func(k bucket) uint64 { return hash(k.Key) }, mustCodec[bucket](b), vals)
	plain := make(map[bucket]int64)
	for k := range int64(1000) {
		for w := range int64(64) {
			table.Put(bucket{k, w}, 1)
			plain[bucket{k, w}] = 1
		}
	}
	const batch = 1000
	order, at := shuffled(64_000), 0
	versus(b, batch,
		func() {
			for _, n := range order[at : at+batch] {
				p, _ := table.Upsert(bucket{n / 64, n % 64})
				*p++
			}
		},
		func() {
			for _, n := range order[at : at+batch] {
				plain[bucket{n / 64, n % 64}]++
			}
			at = (at + batch) % len(order)
		})
}

// A cut of a million keys, then the first writes after it, each to a page of its own.
func BenchmarkFreezeAndFirstWrites(b *testing.B) {
	const keys, writes = 1_000_000, 100
	table := newTable[int64, int64](b, benchGroups)
	for k := range int64(keys) {
		table.Put(k, 0)
	}
	order, at := shuffled(keys), 0
	b.ReportAllocs()
	for b.Loop() {
		table.Freeze()
		for _, k := range order[at : at+writes] {
			*table.Ref(k)++
		}
		at = (at + writes) % keys
	}
}

func benchTable[K comparable](b *testing.B, keys []K) *state.Table[K, int64] {
	table := newTable[K, int64](b, benchGroups)
	for i, k := range keys {
		table.Put(k, int64(i))
	}
	return table
}

func benchEncode[K comparable](b *testing.B, keys []K) {
	f := benchTable(b, keys).Freeze()
	size, start, rounds := 0, time.Now(), 0
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		for g := range f.Groups() {
			item, err := f.EncodeGroup(g)
			if err != nil {
				b.Fatal(err)
			}
			size += len(item)
		}
		rounds++
	}
	b.SetBytes(int64(size))
	b.ReportMetric(float64(rounds*len(keys))/time.Since(start).Seconds()/1e6, "Mkeys/s")
}

func BenchmarkEncode(b *testing.B) {
	b.Run("int64", func(b *testing.B) { benchEncode(b, shuffled(1_000_000)) })
	b.Run("string", func(b *testing.B) { benchEncode(b, names(shuffled(200_000))) })
}

func benchDecode[K comparable](b *testing.B, keys []K) {
	table := benchTable(b, keys)
	f := table.Freeze()
	size, rounds := 0, 0
	var sizes []state.GroupSize
	var items [][]byte
	for g, n := range f.Groups() {
		item, err := f.EncodeGroup(g)
		if err != nil {
			b.Fatal(err)
		}
		size += len(item)
		sizes, items = append(sizes, state.GroupSize{Number: g, Keys: n}), append(items, item)
	}
	start := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		back := table.Empty()
		for i, item := range items {
			if err := back.DecodeGroup(sizes[i], item); err != nil {
				b.Fatal(err)
			}
		}
		rounds++
	}
	b.SetBytes(int64(size))
	b.ReportMetric(float64(rounds*len(keys))/time.Since(start).Seconds()/1e6, "Mkeys/s")
}

func BenchmarkDecode(b *testing.B) {
	b.Run("int64", func(b *testing.B) { benchDecode(b, shuffled(1_000_000)) })
	b.Run("string", func(b *testing.B) { benchDecode(b, names(shuffled(200_000))) })
}

// heap is the live heap that build leaves behind, in bytes.
func heap(build func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// Bytes of live heap for each key, and how many times those of a plain map.
func BenchmarkHeap(b *testing.B) {
	for _, keys := range []int64{600_000, 1_000_000} {
		b.Run(strconv.FormatInt(keys, 10), func(b *testing.B) {
			var ours, plain float64
			for b.Loop() {
				ours = heap(func() any {
					table := newTable[int64, int64](b, benchGroups)
					for k := range keys {
						table.Put(k, k)
					}
					return table
				})
				plain = heap(func() any {
					m := make(map[int64]int64)
					for k := range keys {
						m[k] = k
					}
					return m
				})
			}
			b.ReportMetric(ours/float64(keys), "B/key")
			b.ReportMetric(ours/plain, "x-map")
		})
	}
}
