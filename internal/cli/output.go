package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/internal/settings"
)

// Output is the -o flag of a command: text for people, json for programs.
type Output struct{ format formatValue }

type formatValue string

func (f *formatValue) String() string {
	if *f == "" {
		return "text"
	}
	return string(*f)
}

func (f *formatValue) Set(s string) error {
	if s != "text" && s != "json" {
		return fmt.Errorf("%q is not text or json", s)
	}
	*f = formatValue(s)
	return nil
}

func (*formatValue) Type() string { return "format" }

// Flag adds -o, --output to the command. Environment and file do not set it: there, output is the path of a worker.
func (o *Output) Flag(cmd *cobra.Command) {
	cmd.Flags().VarP(&o.format, "output", "o", "output format: text or json")
	settings.FlagOnly(cmd.Flags(), "output")
}

// JSON reports whether the output is for a program.
func (o *Output) JSON() bool { return o.format.String() == "json" }

// Print writes v as one line of JSON, or calls text to write it for a person.
func (o *Output) Print(cmd *cobra.Command, v any, text func(*Printer)) error {
	if !o.JSON() {
		p := NewPrinter(cmd.OutOrStdout())
		text(p)
		return p.Err()
	}
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// Printer writes lines for a person, with colour when the writer is a terminal and NO_COLOR is not set. It keeps the
// first write error.
type Printer struct {
	w     io.Writer
	color bool
	err   error
}

// NewPrinter returns a printer to w.
func NewPrinter(w io.Writer) *Printer {
	return &Printer{w: w, color: IsTerminal(w) && os.Getenv("NO_COLOR") == ""}
}

// Width is how many columns the terminal has, and 0 where there is none or it does not say.
func (p *Printer) Width() int {
	f, ok := p.w.(*os.File)
	if !ok || !IsTerminal(f) {
		return 0
	}
	return terminalWidth(f)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Err returns the first write error.
func (p *Printer) Err() error { return p.err }

// Line writes one line.
func (p *Printer) Line(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); err != nil && p.err == nil {
		p.err = fmt.Errorf("write output: %w", err)
	}
}

// Table writes rows in aligned columns; the first row is the head.
func (p *Printer) Table(rows [][]string) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil && p.err == nil {
		p.err = err
	}
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		if i == 0 {
			line = p.Bold(line)
		}
		p.Line("%s", line)
	}
}

// Bold makes text stand out on a terminal and leaves it alone elsewhere.
func (p *Printer) Bold(s string) string { return p.style("1", s) }

// Green is for what went well, on a terminal.
func (p *Printer) Green(s string) string { return p.style("32", s) }

// Red is for what did not, on a terminal.
func (p *Printer) Red(s string) string { return p.style("31", s) }

// Dim is for what matters less, on a terminal.
func (p *Printer) Dim(s string) string { return p.style("2", s) }

func (p *Printer) style(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func flagNames(c *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(add)
	c.PersistentFlags().VisitAll(add)
	return names
}
