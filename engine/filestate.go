package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Errors of sinks that keep their position in the cut.
var (
	// ErrLost: less is there than the cut says has been committed.
	ErrLost = errors.New("committed output is missing")
	// ErrOutputExists: the output file is there already, and is not what this run would make.
	ErrOutputExists = errors.New("output exists")
)

// crcTable is that of the checksums of parts (Castagnoli: the processor has an instruction for it).
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// filePart is a file that one attempt has written, as far as it is committed.
type filePart struct {
	Name   string // beside the output file, without its directory
	Length int64
	CRC    uint32 // of the first Length bytes
}

// fileState is the item of a file sink: 'F' 1 | done | parts | each: name, length, CRC-32C. Numbers are unsigned varints.
type fileState struct {
	Parts []filePart
	Done  bool
}

func (s fileState) length() (n int64) {
	for _, p := range s.Parts {
		n += p.Length
	}
	return n
}

func appendFileState(b []byte, s fileState) []byte {
	b = appendBool(append(b, 'F', itemVersion), s.Done)
	b = binary.AppendUvarint(b, uint64(len(s.Parts)))
	for _, p := range s.Parts {
		b = binary.AppendUvarint(appendString(b, p.Name), uint64(p.Length))
		b = binary.AppendUvarint(b, uint64(p.CRC))
	}
	return b
}

func decodeFileState(b []byte) (fileState, error) {
	d := newDecoder(b, 'F')
	s := fileState{Done: d.bool()}
	n := d.uvarint()
	for i := uint64(0); i < n && d.err == nil; i++ {
		p := filePart{Name: d.string()}
		length, crc := d.uvarint(), d.uvarint()
		p.Length, p.CRC = int64(length), uint32(crc)
		if d.err == nil && (p.Name == "" || p.Name != filepath.Base(p.Name) || p.Name == "." || p.Name == ".." || p.Length <= 0 || uint64(p.CRC) != crc) {
			d.err = fmt.Errorf("part %q of %d bytes: %w", p.Name, p.Length, ErrCorrupt)
		}
		s.Parts = append(s.Parts, p)
	}
	return s, d.finish()
}

// OpenCommitted reads exactly the rows that a cut holds, given the path of a file sink and its item ("file-N") of a
// completed checkpoint: no row that a later restore could take back. It works while the job runs and after its end.
func OpenCommitted(path string, item []byte) (io.ReadCloser, error) {
	s, err := decodeFileState(item)
	if err != nil {
		return nil, fmt.Errorf("open committed rows of %s: %w", path, err)
	}
	r, err := openParts(filepath.Dir(path), s.Parts)
	if errors.Is(err, fs.ErrNotExist) {
		// The job has ended: the file begins with the same bytes.
		r, err = openParts("", []filePart{{Name: path, Length: s.length()}})
	}
	if err != nil {
		return nil, fmt.Errorf("open committed rows of %s: %w", path, err)
	}
	return r, nil
}

// partsReader is the committed heads of several files, one behind the other.
type partsReader struct {
	io.Reader
	files []*os.File
}

func openParts(dir string, list []filePart) (*partsReader, error) {
	r := &partsReader{}
	var heads []io.Reader
	for _, p := range list {
		f, err := openPart(filepath.Join(dir, p.Name), p.Length)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.files = append(r.files, f)
		heads = append(heads, io.LimitReader(f, p.Length))
	}
	r.Reader = io.MultiReader(heads...)
	return r, nil
}

// openPart opens a file that has at least length bytes.
func openPart(path string, length int64) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < length {
		err = fmt.Errorf("%s has %d of %d bytes: %w", path, info.Size(), length, ErrLost)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close closes the files.
func (r *partsReader) Close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
