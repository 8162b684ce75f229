package main

import (
	"encoding/json"
	"testing"
)

func TestProgressIsSaidInWords(t *testing.T) {
	for progress, want := range map[string]string{
		`{"records_in":7000,"records_out":1380,"late_dropped":0,"watermark":980992559999}`: "7000 records in, 1380 out since its start, at 2001-02-01 01:55:59",
		`{"records_in":1,"records_out":0,"late_dropped":2}`:                                "1 records in, 0 out since its start, 2 too late",
		`{"records_in":2,"records_out":1,"watermark":9223372036854775807}`:                 "2 records in, 1 out since its start, at the end of input",
		`{"records_in":"many"}`: "",
		`"of another worker"`:   "",
		``:                      "",
	} {
		if got := progressText(valid([]byte(progress))); got != want {
			t.Errorf("%s is said as %q, want %q", progress, got, want)
		}
	}
	if got := valid([]byte(`{"broken`)); got != nil {
		t.Errorf("%s is let through", got)
	}
	if _, err := json.Marshal(taskStatus{Task: "a", Attempt: 1, Instance: "i", Progress: valid([]byte("{"))}); err != nil {
		t.Error(err)
	}
}
