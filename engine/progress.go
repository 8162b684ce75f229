package engine

import (
	"cmp"
	"slices"
)

// Progress is how far a pipeline has come. While records flow it is up to 32 records behind.
type Progress struct {
	RecordsIn   int64 // records processed, over all sources, including those before the adopted cut
	RecordsOut  int64 // records that reached a sink, in this run
	LateDropped int64 // records dropped because all their windows had been emitted, in this run
	Watermark   int64 // the lowest of all assigned watermarks whose streams have not ended and are not idle; [MinWatermark] before the first
	Sources     []SourceProgress
	Windows     []WindowProgress // one for each window operator
}

// SourceProgress is how far one source has been processed.
type SourceProgress struct {
	Name    string
	Records int64 // processed, including those before the adopted cut
	Offset  int64 // where reading would resume
	Done    bool  // ended and flushed
}

// Progress reads counters; it takes no lock and never waits.
func (p *Pipeline) Progress() Progress { return p.exec.Load().progress() }

// progress adds up what the subtasks show.
func (e *execution) progress() Progress {
	var r Progress
	var holders []*watermarkOp
	for _, t := range e.tasks {
		r.RecordsOut += t.progress.out.Load()
		r.LateDropped += t.progress.late.Load()
		for _, s := range t.sources {
			r.Sources = append(r.Sources, s.progress())
		}
		for _, s := range t.strays {
			r.addWindow(s.progress())
		}
		holders = append(holders, t.holders...)
	}
	r.Watermark = lowestWatermark(holders)
	slices.SortFunc(r.Sources, func(a, b SourceProgress) int {
		return cmp.Compare(e.pipeline.numberOf(a.Name), e.pipeline.numberOf(b.Name))
	})
	for _, s := range r.Sources {
		r.RecordsIn += s.Records
	}
	if past := e.past; past != nil {
		r.RecordsOut += past.RecordsOut
		r.LateDropped += past.LateDropped
		for _, w := range past.Windows {
			r.addWindow(w)
		}
	}
	return r
}

// lowestWatermark is that of the streams that have neither ended nor are idle; else of the idle ones; else the end.
func lowestWatermark(holders []*watermarkOp) int64 {
	if len(holders) == 0 {
		return MinWatermark
	}
	awake, asleep := MaxWatermark, MaxWatermark
	for _, h := range holders {
		if h.shown.asleep.Load() {
			asleep = min(asleep, h.shown.last.Load())
		} else {
			awake = min(awake, h.shown.last.Load())
		}
	}
	if awake == MaxWatermark {
		return asleep
	}
	return awake
}

// addWindow adds what one subtask of a window operator has counted.
func (p *Progress) addWindow(w WindowProgress) {
	for i := range p.Windows {
		if have := &p.Windows[i]; have.Operator == w.Operator {
			have.LateDropped += w.LateDropped
			have.LateDiverted += w.LateDiverted
			have.Unplaced += w.Unplaced
			return
		}
	}
	p.Windows = append(p.Windows, w)
}
