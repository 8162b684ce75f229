package engine

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// JSONLines is a seekable source of a file with one JSON value per line, plain or gzip (told apart by content, not by name).
// Offsets are bytes of the uncompressed text; blank lines are skipped. A line that cannot be decoded ends the run, after
// the records before it, with the line's offset in the error.
type JSONLines[T any] struct {
	// Path of the file.
	Path string
	// Decode reads one line, without its end; it must not keep the slice. nil means [json.Unmarshal].
	Decode func(line []byte, v *T) error
	// MaxLine is the longest line accepted, in bytes. 0 means 1 MiB; negative is an error.
	MaxLine int
}

const defaultMaxLine = 1 << 20

// ErrLine reports a line that is too long or cannot be decoded.
var ErrLine = errors.New("bad line")

// Validate reports a missing path or a negative limit.
func (j JSONLines[T]) Validate() error {
	if j.Path == "" {
		return fmt.Errorf("empty path: %w", ErrInvalid)
	}
	if j.MaxLine < 0 {
		return fmt.Errorf("longest line of %d bytes: %w", j.MaxLine, ErrInvalid)
	}
	return nil
}

// Seekable is true: reading continues at any line. In a gzip file everything before it is uncompressed once more.
func (j JSONLines[T]) Seekable() bool { return true }

// Run reads the file from c.From().
func (j JSONLines[T]) Run(_ context.Context, c *Collector[T]) (err error) {
	f, err := os.Open(j.Path)
	if err != nil {
		return fmt.Errorf("open json lines: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := seekText(f, c.From(), c.Show)
	if err != nil {
		return fmt.Errorf("seek %s to %d: %w", j.Path, c.From(), err)
	}
	decode := j.Decode
	if decode == nil {
		decode = func(line []byte, v *T) error { return json.Unmarshal(line, v) }
	}
	lines := &lineReader{r: r, offset: c.From(), limit: j.MaxLine}
	if lines.limit == 0 {
		lines.limit = defaultMaxLine
	}
	for {
		start := lines.offset
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s at offset %d: %w", j.Path, start, err)
		}
		var v T
		if err := decode(line, &v); err != nil {
			return fmt.Errorf("decode %s at offset %d: %w: %w", j.Path, start, ErrLine, err)
		}
		if err := c.CollectSoon(Record[T]{Value: v, Timestamp: c.count, Next: lines.offset}); err != nil {
			return err
		}
	}
}

// seekText gives the text of a plain or gzip file from offset on. before is called whenever the file is about to be read, which
// may block if it is a pipe.
func seekText(f *os.File, offset int64, before func()) (*bufio.Reader, error) {
	text := announced{f, before}
	r := bufio.NewReaderSize(text, flushAt)
	head, err := r.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = bufio.NewReaderSize(z, flushAt)
		_, err = io.CopyN(io.Discard, r, offset)
		return r, noEOF(err)
	}
	if offset == 0 {
		return r, nil // It may be a pipe, which cannot seek.
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if offset > info.Size() {
		return nil, io.ErrUnexpectedEOF
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	r.Reset(text)
	return r, nil
}

// announced calls a function before each read.
type announced struct {
	io.Reader
	before func()
}

func (a announced) Read(b []byte) (int, error) {
	a.before()
	return a.Reader.Read(b)
}

// noEOF makes an end of the file where none should be an error of its own.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineReader splits text into lines and counts bytes.
type lineReader struct {
	r      *bufio.Reader
	offset int64 // behind the last line
	limit  int
	long   []byte // a line that did not fit the reader's buffer
}

// next gives the next line that is not blank, without its end, or [io.EOF]. The slice holds until the next call.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	l.long = l.long[:0]
	for {
		piece, err := l.r.ReadSlice('\n')
		l.offset += int64(len(piece))
		if len(l.long)+len(piece) > l.limit+1 {
			return nil, fmt.Errorf("longer than %d bytes: %w", l.limit, ErrLine)
		}
		switch {
		case err == nil && len(l.long) == 0:
			return piece, nil
		case errors.Is(err, bufio.ErrBufferFull) || err == nil || errors.Is(err, io.EOF):
			l.long = append(l.long, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.long) > 0, err == nil:
			return l.long, nil
		default:
			return nil, err
		}
	}
}
