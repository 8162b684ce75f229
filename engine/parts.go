package engine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// parts is the output of a file sink: the parts of earlier attempts, frozen at their committed lengths, and the one of this
// attempt. An attempt only ever appends to a file that it has created itself, so an old process that wakes up cannot touch
// what counts.
//
// Two locks: io for the files, mu for the memory in front of them. io is taken before mu, never under the checkpoint lock;
// mu is taken last, and held for memory work only.
type parts struct {
	path  string
	nonce string // makes the names of this attempt's files its own

	size atomic.Int64 // len(buf)

	mu       sync.Mutex
	buf      []byte // rows of this attempt that are not written yet
	own      filePart
	earlier  []filePart
	done     bool // the input has ended: nothing will be appended any more
	final    bool // some cut holds the whole output
	finalID  int64
	restored bool // the adopted cut held the whole output, so it has been completed

	io      sync.Mutex
	file    *os.File
	spare   []byte
	written int64
	synced  int64
	err     error // the first error of a write; the attempt is over
	closed  bool
}

func newParts(path string) *parts { return &parts{path: path} }

// append adds one row to the memory in front of the file.
func (p *parts) append(row []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf = append(p.buf, row...)
	p.size.Store(int64(len(p.buf)))
	p.own.Length += int64(len(row))
	p.own.CRC = crc32.Update(p.own.CRC, crcTable, row)
}

// end says that nothing follows.
func (p *parts) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
}

// buffered is asked between any two records, so it takes no lock.
func (p *parts) buffered() int64 { return p.size.Load() }

// position is the state as of now, and remembers under which id the output was first whole.
func (p *parts) position(id int64) fileState {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := fileState{Parts: slices.Clip(p.earlier), Done: p.done}
	if p.own.Length > 0 {
		s.Parts = append(s.Parts, p.own)
	}
	if p.done && (!p.final || id < p.finalID) {
		p.final, p.finalID = true, id
	}
	return s
}

// check says whether the files are what the cut says, as far as that is cheap: that all bytes are there. The checksums are
// compared when the parts are put together.
func (p *parts) check(s fileState) error {
	for _, part := range s.Parts {
		if own, _, _ := strings.Cut(part.Name, ".part-"); own != filepath.Base(p.path) {
			return fmt.Errorf("the cut's rows are those of %s, and this sink writes %s: a file keeps its name while its job goes on, and "+
				"sinks keep their place in the graph or are named by WithUID: %w", own, filepath.Base(p.path), ErrLost)
		}
	}
	r, err := openParts(filepath.Dir(p.path), s.Parts)
	if err == nil {
		return r.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		if s.Done && p.assembled(s) == nil {
			return nil
		}
		return fmt.Errorf("%w: %w; was the output path changed? the part files of the last run are needed next to it", ErrLost, err)
	}
	return err
}

// adopt continues behind the parts of a cut.
func (p *parts) adopt(s fileState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.earlier, p.done, p.restored = s.Parts, s.Done, s.Done
}

// open creates this attempt's part. If the adopted cut was that of the whole output, it puts the output together instead,
// which the attempt before may not have come to.
func (p *parts) open() error {
	p.mu.Lock()
	s, restored := fileState{Parts: p.earlier, Done: p.done}, p.restored
	p.mu.Unlock()
	if restored {
		return p.assemble(s)
	}
	if _, err := os.Lstat(p.path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s is there already and is not of this run; move it away, or write to another path: %w", p.path, ErrOutputExists)
		}
		return err
	}
	var random [4]byte
	rand.Read(random[:]) // It never fails: it ends the program instead.
	p.io.Lock()
	defer p.io.Unlock()
	p.nonce = hex.EncodeToString(random[:])
	name := fmt.Sprintf("%s.part-%d-%s", filepath.Base(p.path), len(s.Parts)+1, p.nonce)
	f, err := os.OpenFile(filepath.Join(filepath.Dir(p.path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	p.file = f
	p.mu.Lock()
	p.own.Name = name
	p.mu.Unlock()
	return syncDir(filepath.Dir(p.path))
}

// flush writes what is in memory.
func (p *parts) flush() error {
	p.io.Lock()
	defer p.io.Unlock()
	return p.flushLocked()
}

func (p *parts) flushLocked() error {
	if p.err != nil || p.file == nil {
		return p.err
	}
	p.mu.Lock()
	rows := p.buf
	p.buf = p.spare[:0]
	p.size.Store(0)
	p.mu.Unlock()
	if len(rows) > 0 {
		n, err := p.file.Write(rows)
		p.written += int64(n)
		p.err = err
	}
	p.spare = rows[:0]
	return p.err
}

// sync makes the rows of a cut durable.
func (p *parts) sync(s fileState) error {
	p.io.Lock()
	defer p.io.Unlock()
	p.mu.Lock()
	name := p.own.Name
	p.mu.Unlock()
	if len(s.Parts) == 0 || s.Parts[len(s.Parts)-1].Name != name {
		return nil // nothing in it is this attempt's
	}
	length := s.Parts[len(s.Parts)-1].Length
	if p.synced >= length {
		return nil
	}
	if err := p.flushLocked(); err != nil {
		return err
	}
	return p.syncLocked()
}

func (p *parts) syncLocked() error {
	if p.err != nil || p.file == nil || p.synced == p.written {
		return p.err
	}
	if p.err = p.file.Sync(); p.err == nil {
		p.synced = p.written
	}
	return p.err
}

// close makes everything durable and closes the file; an empty one goes.
func (p *parts) close() error {
	p.io.Lock()
	defer p.io.Unlock()
	if p.file == nil || p.closed {
		return nil
	}
	p.closed = true
	err := p.flushLocked()
	if err == nil {
		err = p.syncLocked()
	}
	err = errors.Join(err, p.file.Close())
	if p.written == 0 {
		err = errors.Join(err, os.Remove(p.file.Name()))
	}
	return err
}

// syncDir makes the creation and removal of files durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
