// Command wordcount is a job of a user's own: it counts the words of a text file and writes each word with its running
// count, exactly once whatever crashes. Its coordinator runs apart; any number of shares may work on it:
//
//	coordinator serve --job wordcount --tasks 2 --interval 1s
//	wordcount run --task 1/2 --input text.txt --output counts/
//	wordcount run --task 2/2 --input text.txt --output counts/
package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/job"
)

func main() {
	var input, output string
	job.Main(job.Job{
		Name: "wordcount",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&input, "input", "text.txt", "file of text")
			f.StringVar(&output, "output", "counts/", "folder for the counts")
		},
		Build: func(s job.Share) (*engine.Graph, error) { return graph(s, input, output) },
	})
}

// count is one line of the output.
type count struct {
	Word string `json:"word"`
	N    int64  `json:"n"`
}

// graph is the job: from source to sink.
func graph(s job.Share, input, output string) (*engine.Graph, error) {
	path, err := s.File(output)
	if err != nil {
		return nil, err
	}
	g := engine.New(engine.Config{})
	lines := engine.From(g, engine.JSONLines[string]{Path: input, Decode: text})
	words := engine.FlatMap(lines, func(line string, emit func(count)) {
		for word := range strings.FieldsSeq(strings.ToLower(line)) {
			if s.Owns(word) {
				emit(count{word, 1})
			}
		}
	})
	byWord := engine.KeyBy(words, func(c count) string { return c.Word })
	counts := engine.Reduce(byWord, func(a, b count) count { return count{a.Word, a.N + b.N} })
	engine.ToFile(counts, path, engine.JSONRow[count])
	return g, nil
}

// text reads a line as it stands.
func text(line []byte, v *string) error {
	*v = string(line)
	return nil
}
