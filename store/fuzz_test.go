package store_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/store"
)

// FuzzDecodeRecord: no bytes make the decoder panic, and what it reads it writes and reads again unchanged.
func FuzzDecodeRecord(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"id":7,"timestamp":1}`, `{"id":7,"timestamp":1,"version":0,"state":{"a":[1,2.0,1e400,null,"\u0000"]},"x":{"y":1}}`,
		`{"id":7,"timestamp":-1,"completed":true,"version":1,"nonce":"n","state":{"k":"v"},"crc32c":"00000000"}`,
		`{"id":7,"timestamp":1,"state":{"n":18446744073709551616,"f":0.1000000000000000055511151231257827}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cp, err := store.DecodeRecord("key", 7, data, 1<<16)
		if err != nil {
			if !store.Unreadable(err) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		once, err := store.EncodeRecord(cp, 0)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		again, err := store.DecodeRecord("key", 7, once, 0)
		if err != nil {
			t.Fatalf("written, but not read: %s: %v", once, err)
		}
		if diff := cmp.Diff(cp.State, again.State); diff != "" {
			t.Fatal(diff)
		}
		if twice, err := store.EncodeRecord(again, 0); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s, then %s, %v", once, twice, err)
		}
	})
}

// FuzzDecodeFrame: no bytes make the decoder panic or give content under a name that is not its own.
func FuzzDecodeFrame(f *testing.F) {
	framer := newFramer(f, 1<<16)
	for _, seed := range [][]byte{nil, []byte("abc"), bytes.Repeat([]byte("abc"), 100)} {
		frame, ref, err := framer.Encode(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ref.Digest, frame)
	}
	f.Fuzz(func(t *testing.T, digest string, frame []byte) {
		data, err := framer.Decode("key", digest, frame)
		switch {
		case err == nil && (store.Digest(data) != digest || int64(len(data)) > framer.Limit()):
			t.Fatalf("%d bytes of %s under the name %s", len(data), store.Digest(data), digest)
		case err != nil && !store.Unreadable(err):
			t.Fatalf("error of no kind: %v", err)
		}
	})
}
