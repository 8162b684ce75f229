package worker

import (
	"errors"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
)

// counts adds to a line what has come in and gone out, and what was late: the names are those of the line "processing".
func counts(p engine.Progress) func(*zerolog.Event) {
	return func(line *zerolog.Event) {
		line.Int64("records_in", p.RecordsIn).Int64("records_out", p.RecordsOut).Int64("late_dropped", p.LateDropped)
	}
}

// sayStack logs where a function of the job panicked, for whoever looks for the reason. The error itself names one place.
func sayStack(log zerolog.Logger, err error) {
	if p, ok := errors.AsType[*engine.PanicError](err); ok {
		log.Debug().Bytes("stack", p.Stack).Msg("a function of the job has panicked")
	}
}
