package store_test

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/store"
)

func ExampleGet() {
	cp := store.New(7, 1735689600000)
	cp.State["user-count"] = 1000
	cp.State["offsets"] = map[string]any{"p0": 11, "p1": 22}

	stored, err := cp.Clone() // what a store gives back
	if err != nil {
		fmt.Println(err)
		return
	}
	count, found, err := store.Get[int](stored.State, "user-count")
	fmt.Println(count, found, err)

	offsets, _, err := store.Get[struct{ P0, P1 int64 }](stored.State, "offsets")
	fmt.Println(offsets, err)

	_, found, err = store.Get[string](stored.State, "nothing")
	fmt.Println(found, err)

	_, _, err = store.Get[string](stored.State, "user-count")
	fmt.Println(err)
	// Output:
	// 1000 true <nil>
	// {11 22} <nil>
	// false <nil>
	// state "user-count" holds int64, not convertible to string: json: cannot unmarshal number into Go value of type string
}

func ExampleEncodeRecord() {
	cp := store.New(7, 1735689600000)
	cp.Complete()
	cp.State["user-count"] = 1000
	cp.State["mean"] = 3.0
	b, err := store.EncodeRecord(cp, 0)
	fmt.Println(string(b), err)
	// Output:
	// {"id":7,"timestamp":1735689600000,"completed":true,"version":1,"state":{"mean":3.0,"user-count":1000},"crc32c":"de879cd6"} <nil>
}

func ExampleFramer() {
	f, err := store.NewFramer(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	frame, ref, err := f.Encode(make([]byte, 100_000))
	fmt.Println(ref.Raw, ref.Bytes < 200, err)

	frame[60] ^= 1
	_, err = f.Decode("chunk", ref.Digest, frame)
	fmt.Println(err != nil)
	// Output:
	// 100000 true <nil>
	// true
}
