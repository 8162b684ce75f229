package redislog

import (
	"bufio"
	"io"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// ReadPage reads an XREAD reply from r, as a follower does.
func ReadPage(r io.Reader, count int) (eventlog.Batch, error) {
	var p page
	if err := p.readStream(&conn{in: bufio.NewReaderSize(r, readBuffer)}); err != nil {
		return eventlog.Batch{}, err
	}
	return p.batch(time.Now(), count), nil
}

// ReadReply reads any reply from r.
func ReadReply(r io.Reader) (any, error) {
	return (&conn{in: bufio.NewReaderSize(r, readBuffer)}).reply()
}

// NextCount is the count that follows a page of so many entries and bytes.
func NextCount(count, entries, bytes int) int {
	p := page{entries: make([]rawEntry, entries), bytes: make([]byte, bytes)}
	return p.nextCount(count)
}
