package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// Errors of building a graph; [Graph.Build] joins all it finds.
var (
	// ErrNil reports a nil function, source or stream.
	ErrNil = errors.New("nil argument")
	// ErrInvalid reports a setting that makes no sense, such as a negative delay.
	ErrInvalid = errors.New("invalid argument")
	// ErrName reports a name that is taken, empty, or has a slash in it.
	ErrName = errors.New("unusable name")
)

// OperatorError is the error of a run that a user's function, a source or a sink has ended.
type OperatorError struct {
	Operator string // such as "map-2"
	What     string // such as "sink invocation failed"
	Source   string // whose record was in work, such as "source-1"; empty before the first
	Record   int64  // number of that record in its source, from 1; 0 when there was none (such as at the end of input)
	Offset   int64  // where reading the source would have resumed before that record
	Subtask  int    // of the operator, from 0
	Subtasks int    // how many there are; 0 where there is one
	Err      error  // what the function returned, or a *PanicError
}

// Error names operator, record and cause.
func (e *OperatorError) Error() string {
	var b strings.Builder
	b.WriteString(e.Operator)
	if e.Subtasks > 1 {
		fmt.Fprintf(&b, " (subtask %d of 0-%d)", e.Subtask, e.Subtasks-1)
	}
	fmt.Fprintf(&b, ": %s", e.What)
	switch {
	case e.Record > 0:
		fmt.Fprintf(&b, " at record %d of %s (offset %d)", e.Record, e.Source, e.Offset)
	case e.Source != "":
		fmt.Fprintf(&b, " at the end of %s", e.Source)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap gives the cause.
func (e *OperatorError) Unwrap() error { return e.Err }

// PanicError is a panic of a user's function.
type PanicError struct {
	Value any
	Stack []byte
}

// Error shows the value of the panic and where it was, not the stack.
func (e *PanicError) Error() string {
	if at := panicPlace(string(e.Stack)); at != "" {
		return fmt.Sprintf("panic: %v (%s)", e.Value, at)
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// panicPlace finds file and line of the function that panicked in a stack: the first behind the call of panic that is not the
// runtime's.
func panicPlace(stack string) string {
	_, after, found := strings.Cut(stack, "\npanic(")
	if !found {
		return ""
	}
	function := "runtime.panic"
	for line := range strings.Lines(after) {
		place, indented := strings.CutPrefix(line, "\t")
		if !indented {
			if !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "0x") { // what is left of the line of panic
				function = line
			}
			continue
		}
		if strings.HasPrefix(function, "runtime.") {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimSpace(place), " ")
		return file[strings.LastIndexByte(file, '/')+1:]
	}
	return ""
}

// Unwrap gives the value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guard makes an error of a panic.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
