package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/internal/cli"
)

// screen tells the story: lines that stay, and on a terminal one line at the bottom that shows how far it has come.
type screen struct {
	mu       sync.Mutex
	w        io.Writer // guarded by mu, as all below
	p        *cli.Printer
	terminal bool
	bottom   string
	began    time.Time
}

func newScreen(w io.Writer) *screen {
	return &screen{w: w, p: cli.NewPrinter(w), terminal: cli.IsTerminal(w), began: time.Now()}
}

// line writes a line that stays.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.p.Line(format, args...)
	s.draw()
}

func (s *screen) title(text string) { s.line("%s\n", s.p.Bold(text)) }

func (s *screen) fact(name, text string) { s.line("  %s %s", s.p.Dim(fmt.Sprintf("%-6s", name)), text) }

// event writes what happened, with the seconds since the beginning.
func (s *screen) event(format string, args ...any) {
	at := time.Since(s.began).Seconds()
	s.line("  %s  %s", s.p.Dim(fmt.Sprintf("%5.1fs", at)), fmt.Sprintf(format, args...))
}

// act writes what the demo does to its own processes.
func (s *screen) act(format string, args ...any) {
	s.event("%s", s.p.Bold("── "+fmt.Sprintf(format, args...)))
}

// progress shows how much of each worker's input is processed; on anything but a terminal it shows nothing.
func (s *screen) progress(names []string, shares []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		return
	}
	const width = 8 // all three fit a terminal of 80 columns
	var parts []string
	for i, share := range shares {
		full := int(share * width)
		parts = append(parts, fmt.Sprintf("%s %s%s %3.0f%%", names[i], strings.Repeat("█", full), strings.Repeat("░", width-full), 100*share))
	}
	s.clear()
	s.bottom = "  " + strings.Join(parts, "   ")
	s.draw()
}

// done takes the bottom line away.
func (s *screen) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.bottom = ""
}

func (s *screen) clear() {
	if s.bottom != "" {
		_, _ = io.WriteString(s.w, "\r\x1b[2K") // a terminal that is gone shows at the next line
	}
}

func (s *screen) draw() {
	if s.bottom != "" {
		_, _ = io.WriteString(s.w, s.bottom)
	}
}

// thousands prints a number with spaces between groups of three digits.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
