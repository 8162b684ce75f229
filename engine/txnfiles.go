package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrFenced is the error of an attempt whose output a later one has taken over: it can neither write nor commit any more.
var ErrFenced = errors.New("a later attempt has taken over")

// TxnFiles is a [TwoPhaseCommit] output of files: each transaction becomes a file of a directory, whole and never to change
// again, when its checkpoint has been completed. It is how such an output can be made with nothing but names. A value is for one
// run; Dir, Name and Format are mandatory.
//
//	out/orders-000001-000001              committed by attempt 1; read these, see [CommittedFiles]
//	out/orders-000002-000001              committed by attempt 2
//	out/.orders.attempt-000002/…-000002   attempt 2: not committed yet
//
// An attempt writes into a hidden directory of its own, and commits by renaming out of it. The first thing that a later one
// does is to rename that directory away, which is atomic: from then on no call of the older finds its files, so a process that
// was paused (SIGSTOP) and wakes can neither write nor commit ([ErrFenced]). Then it keeps the files that the adopted cut knows,
// and deletes the others. Everything is synced before the step after it, so that neither SIGKILL nor a power cut at any moment
// loses a row or doubles one. The empty directory of the last attempt stays for ever: it is the fence.
//
// The files in the order of their names have the rows in the order in which they were written. They must not be removed as
// long as the job may be restarted, since an attempt that cannot find what its cut has promised is refused ([ErrLost]). The
// file system must know atomic renames.
type TxnFiles[T any] struct {
	// Dir is the directory; it must exist.
	Dir string
	// Name begins the names of the files. One task of one job has it in its directory.
	Name string
	// Attempt orders the attempts: an attempt that starts late, when one with a higher number has started already, is
	// refused. With 0, an attempt is later than all that have started before: then one that was paused before its run began
	// may take over from its own replacement. The Start of package worker has the number.
	Attempt int64
	// Format appends one row to dst, without the line end; an error ends the run.
	Format func(dst []byte, v T) ([]byte, error)

	attempt int64 // claimed
	begun   int64 // transactions
	rows    []byte
}

// Begin creates the file of a transaction.
func (f *TxnFiles[T]) Begin(context.Context) (string, error) {
	f.begun++
	txn := f.file(f.attempt, f.begun)
	file, err := os.OpenFile(f.pending(txn), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", f.explain(err)
	}
	return txn, file.Close()
}

// Write adds rows to the file. It is opened each time, by name: that is what fences an old attempt off.
func (f *TxnFiles[T]) Write(_ context.Context, txn string, rows []T) (err error) {
	f.rows = f.rows[:0]
	for _, v := range rows {
		if f.rows, err = f.Format(f.rows, v); err != nil {
			return err
		}
		f.rows = append(f.rows, '\n')
	}
	file, err := os.OpenFile(f.pending(txn), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return f.explain(err)
	}
	_, err = file.Write(f.rows)
	return errors.Join(err, file.Close())
}

// PreCommit makes the file durable, and that it is there.
func (f *TxnFiles[T]) PreCommit(_ context.Context, txn string) error {
	file, err := os.OpenFile(f.pending(txn), os.O_WRONLY, 0)
	if err != nil {
		return f.explain(err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return f.explain(syncDir(f.dir(f.attempt)))
}

// Commit gives the file its final name, if it has not got it yet.
func (f *TxnFiles[T]) Commit(_ context.Context, txn string) error {
	final := filepath.Join(f.Dir, txn)
	err := os.Rename(f.pending(txn), final)
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := os.Lstat(final); e != nil {
			return f.explain(err)
		}
	} else if err != nil {
		return err
	}
	return syncDir(f.Dir)
}

// Abort deletes the file.
func (f *TxnFiles[T]) Abort(_ context.Context, txn string) error { return removed(f.pending(txn)) }

// dir is the directory of an attempt, and pending a file in that of this one.
func (f *TxnFiles[T]) dir(attempt int64) string {
	return filepath.Join(f.Dir, fmt.Sprintf(".%s.attempt-%06d", f.Name, attempt))
}

func (f *TxnFiles[T]) pending(txn string) string { return filepath.Join(f.dir(f.attempt), txn) }

func (f *TxnFiles[T]) file(attempt, n int64) string {
	return fmt.Sprintf("%s-%06d-%06d", f.Name, attempt, n)
}

// explain says why a file of this attempt is not there.
func (f *TxnFiles[T]) explain(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, e := os.Lstat(f.dir(f.attempt)); errors.Is(e, fs.ErrNotExist) {
		return fmt.Errorf("attempt %d: %w: %w", f.attempt, ErrFenced, err)
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// removed deletes a file that may be gone.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
