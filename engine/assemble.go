package engine

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// completed puts the output together if the cut of checkpoint id, or an earlier one, held all of it.
func (p *parts) completed(id int64) error {
	p.mu.Lock()
	s := fileState{Parts: slices.Clip(p.earlier), Done: p.done}
	if p.own.Length > 0 {
		s.Parts = append(s.Parts, p.own)
	}
	final := p.final && id >= p.finalID
	p.mu.Unlock()
	if !final {
		return nil
	}
	return p.assemble(s)
}

// assemble makes the output file of all committed parts: copied to a file of its own, made durable, and only then linked to
// its name, which fails if the name is taken. So the name appears once, whole, and is never replaced; whoever comes second
// finds what it would have made. Only then do the parts go.
func (p *parts) assemble(s fileState) error {
	if p.assembled(s) != nil {
		if err := p.link(s); err != nil {
			// Another attempt may have been faster, and have removed the parts. Then its file is the proof.
			if again := p.assembled(s); again != nil {
				return errors.Join(err, again)
			}
		}
	}
	return p.tidy()
}

// assembled compares the output file with the committed parts; nil means that it is complete.
func (p *parts) assembled(s fileState) error {
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // It was only read.
	r := bufio.NewReaderSize(f, flushAt)
	for _, part := range s.Parts {
		if err := copyPart(io.Discard, r, part); err != nil {
			return fmt.Errorf("%w: %w", ErrOutputExists, err)
		}
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is longer than the output: %w", p.path, ErrOutputExists)
	}
	return nil
}

// link writes the whole output and gives it its name.
func (p *parts) link(s fileState) (err error) {
	var random [4]byte
	rand.Read(random[:]) // It never fails: it ends the program instead.
	tmp, err := os.OpenFile(p.path+".tmp-"+hex.EncodeToString(random[:]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if e := os.Remove(tmp.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	err = copyParts(tmp, filepath.Dir(p.path), s.Parts)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), p.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(p.path))
}

func copyParts(w io.Writer, dir string, list []filePart) error {
	for _, part := range list {
		f, err := openPart(filepath.Join(dir, part.Name), part.Length)
		if err != nil {
			return err
		}
		if err := errors.Join(copyPart(w, f, part), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// copyPart copies the committed bytes of a part and compares their checksum.
func copyPart(w io.Writer, r io.Reader, part filePart) error {
	sum := crc32.New(crcTable)
	if _, err := io.CopyN(io.MultiWriter(w, sum), r, part.Length); err != nil {
		return fmt.Errorf("copy %s: %w", part.Name, err)
	}
	if sum.Sum32() != part.CRC {
		return fmt.Errorf("%s has another checksum than was committed: %w", part.Name, ErrLost)
	}
	return nil
}

// tidy removes the parts of all attempts, those that never committed anything included. The path is one task's, whose
// output is now complete; an old attempt that still writes goes on into a file without a name.
func (p *parts) tidy() error {
	dir, base := filepath.Split(p.path)
	if dir == "" {
		dir = "."
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), base+".part-") && !strings.HasPrefix(e.Name(), base+".tmp-") {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
