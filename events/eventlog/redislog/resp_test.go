package redislog_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
)

// reply is an XREAD reply with one entry of these fields.
func reply(values ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n7-1\r\n*%d\r\n", len(values))
	for _, v := range values {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(v), v)
	}
	return b.String()
}

func TestAReplyIsReadHoweverItIsSplit(t *testing.T) {
	payload, err := ack("e").Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := reply(events.FieldID, "e", "metadata", "", events.FieldPayload, string(payload))
	want := []eventlog.Entry{{Position: events.Position{Ms: 7, Seq: 1}, Envelope: ack("e")}}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
	} {
		b, err := redislog.ReadPage(r, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, b.Entries); diff != "" || b.AtEnd {
			t.Errorf("%s: at end %v %s", name, b.AtEnd, diff)
		}
	}
	for n := range len(text) {
		if _, err := redislog.ReadPage(strings.NewReader(text[:n]), 1); err == nil {
			t.Fatalf("%q was taken as whole", text[:n])
		}
	}
}

func TestTheLastOfTwoEqualFieldsCounts(t *testing.T) {
	payload, err := ack("e").Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := redislog.ReadPage(strings.NewReader(reply(
		events.FieldPayload, "{", events.FieldID, "a b", events.FieldID, "e", events.FieldPayload, string(payload))), 512)
	if err != nil || len(b.Entries) != 1 || b.Entries[0].Poison != nil || b.Entries[0].Envelope.ID != "e" {
		t.Errorf("got %+v, %v", b.Entries, err)
	}
}

func TestRepliesOfEachKind(t *testing.T) {
	for text, want := range map[string]any{
		"+OK\r\n": "OK", ":-7\r\n": int64(-7), "$-1\r\n": nil, "*-1\r\n": nil, "$0\r\n\r\n": "",
		"*3\r\n:1\r\n$1\r\na\r\n*0\r\n": []any{int64(1), "a", []any(nil)},
	} {
		got, err := redislog.ReadReply(strings.NewReader(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{
		"-ERR no\r\n", "?\r\n", "\r\n", "$x\r\n", "$99999999999999999999\r\n", "$9223372036854775807\r\n", "$5\r\nab",
		strings.Repeat("*1\r\n", 100), "+" + strings.Repeat("x", 1<<17) + "\r\n",
	} {
		if got, err := redislog.ReadReply(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q gave %v", text, got)
		}
	}
}

func TestTheCountAdaptsToTheSizeOfEntries(t *testing.T) {
	for name, tc := range map[string]struct{ count, entries, bytes, want int }{
		"grows by four":                        {64, 64, 64 * 300, 256},
		"up to the most":                       {256, 256, 256 * 300, 512},
		"shrinks to what holds 4 MiB":          {512, 512, 512 * (1 << 16), 63},
		"down to one":                          {512, 1, 8 << 20, 1},
		"stays when nothing came":              {64, 0, 0, 64},
		"recovers when entries are small anew": {1, 1, 100, 4},
	} {
		if got := redislog.NextCount(tc.count, tc.entries, tc.bytes); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func FuzzReply(f *testing.F) {
	payload, err := ack("e").Encode(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(reply(events.FieldID, "e", events.FieldPayload, string(payload))))
	f.Add([]byte("*-1\r\n"))
	f.Add([]byte("-WRONGTYPE x\r\n"))
	f.Add([]byte("*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n7-1\r\n*-1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		batch, err := redislog.ReadPage(bytes.NewReader(b), 512)
		if err == nil && len(batch.Entries)*4 > len(b) {
			t.Errorf("%d entries out of %d bytes", len(batch.Entries), len(b))
		}
		if _, err := redislog.ReadReply(bytes.NewReader(b)); err != nil {
			return
		}
	})
}
