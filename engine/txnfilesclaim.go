package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Recover takes the output over from earlier attempts: it fences them off, keeps what is known and deletes the rest of theirs.
func (f *TxnFiles[T]) Recover(_ context.Context, known []string) error {
	if f.Format == nil {
		return fmt.Errorf("format function: %w", ErrNil)
	}
	if f.Name == "" || f.Name != filepath.Base(f.Name) {
		return fmt.Errorf("name %q: %w", f.Name, ErrName)
	}
	for _, txn := range known {
		if f.parse(txn) == 0 {
			return fmt.Errorf("transaction %q of %s: %w", txn, f.Name, ErrCorrupt)
		}
	}
	if f.attempt == 0 {
		if err := f.claim(); err != nil {
			return err
		}
	}
	if err := f.gather(known); err != nil {
		return f.explain(err)
	}
	for _, txn := range known {
		if err := f.present(txn); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(f.dir(f.attempt)), syncDir(f.Dir))
}

// gather leaves nothing of earlier attempts but what is known, in the directory of this one.
func (f *TxnFiles[T]) gather(known []string) error {
	fenced, err := f.fence()
	for _, dir := range append(fenced, f.dir(f.attempt)) {
		if err == nil {
			err = f.sortOut(dir, known)
		}
	}
	return err
}

// claim makes the directory of this attempt, unless a later one has been here. Whoever comes second of two finds the other's.
func (f *TxnFiles[T]) claim() error {
	highest, err := f.highest()
	if err != nil {
		return err
	}
	own := f.Attempt
	if own == 0 {
		own = highest + 1
	}
	if own <= highest {
		return fmt.Errorf("attempt %d after attempt %d: %w", own, highest, ErrFenced)
	}
	if err := os.Mkdir(f.dir(own), 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("attempt %d: %w: %w", own, ErrFenced, err)
		}
		return err
	}
	if highest, err = f.highest(); err == nil && highest > own {
		err = fmt.Errorf("attempt %d beside attempt %d: %w", own, highest, ErrFenced)
	}
	if err != nil {
		return errors.Join(err, removed(f.dir(own)))
	}
	f.attempt = own
	return nil
}

// highest is the number of the latest attempt that has left anything, a committed file included; 0 if there was none.
func (f *TxnFiles[T]) highest() (int64, error) {
	list, err := os.ReadDir(f.Dir)
	highest := int64(0)
	for _, e := range list {
		owner, by := f.owner(e.Name())
		highest = max(highest, owner, by, f.parse(e.Name()))
	}
	return highest, err
}

// fence renames away the directories of earlier attempts. It gives all that were, also by one that died over it.
func (f *TxnFiles[T]) fence() (fenced []string, err error) {
	list, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		owner, by := f.owner(e.Name())
		if owner == 0 || owner >= f.attempt || by > 0 {
			continue
		}
		away := fmt.Sprintf(".%s.fenced-%06d-%06d", f.Name, owner, f.attempt)
		if err := os.Rename(f.dir(owner), filepath.Join(f.Dir, away)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if list, err = os.ReadDir(f.Dir); err != nil {
		return nil, err
	}
	for _, e := range list {
		if owner, by := f.owner(e.Name()); by > 0 && owner < f.attempt {
			fenced = append(fenced, filepath.Join(f.Dir, e.Name()))
		}
	}
	return fenced, nil
}

// sortOut brings what is known home, deletes the rest, and the directory with it unless it is this attempt's.
func (f *TxnFiles[T]) sortOut(dir string, known []string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	home := dir == f.dir(f.attempt)
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		switch {
		case !slices.Contains(known, e.Name()):
			err = removed(path)
		case !home:
			err = os.Rename(path, f.pending(e.Name()))
		}
		if err != nil {
			return err
		}
	}
	if home {
		return nil
	}
	// What was brought home must be durable there before it is gone here; the directory is empty then.
	return errors.Join(syncDir(f.dir(f.attempt)), removed(dir))
}

// present finds a known transaction, committed or not.
func (f *TxnFiles[T]) present(txn string) error {
	_, err := os.Lstat(f.pending(txn))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Lstat(filepath.Join(f.Dir, txn))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w; was the output directory changed?", ErrLost, err)
	}
	return err
}

// owner says which attempt a hidden directory belonged to, and which one has fenced it off; 0 for none.
func (f *TxnFiles[T]) owner(name string) (owner, by int64) {
	if s, ok := strings.CutPrefix(name, "."+f.Name+".attempt-"); ok {
		return number(s), 0
	}
	if s, ok := strings.CutPrefix(name, "."+f.Name+".fenced-"); ok {
		a, b, _ := strings.Cut(s, "-")
		return number(a), number(b)
	}
	return 0, 0
}

// parse gives the attempt of a file's name; 0 if it is not one of this output.
func (f *TxnFiles[T]) parse(name string) int64 {
	attempt, n := parseTxnFile(f.Name, name)
	if n == 0 {
		return 0
	}
	return attempt
}
