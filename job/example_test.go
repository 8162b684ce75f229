package job_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/job"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
)

var (
	totals  engine.Rows[int]
	current atomic.Pointer[engine.Pipeline] // of the newest attempt; nil before the first
)

// parity is a job: the running sums of even and of odd numbers. A program of it is func main() { job.Main(parity) }.
var parity = job.Job{
	Name: "parity",
	Build: func(job.Share) (*engine.Graph, error) {
		g := engine.New(engine.Config{})
		numbers := engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2, 3, 4})), func(n int) bool { return n%2 == 0 })
		engine.ToRows(engine.Reduce(numbers, func(a, b int) int { return a + b }), &totals)
		return g, nil
	},
	Started: func(_ job.Share, p *engine.Pipeline) { current.Store(p) },
}

// even answers a request with the sum of the even numbers so far. The service that runs the job serves it.
func even(w http.ResponseWriter, r *http.Request) {
	p := current.Load()
	if p == nil {
		http.Error(w, "the job has not started yet", http.StatusServiceUnavailable)
		return
	}
	sum, _, err := engine.Lookup[int](r.Context(), p, "store-1.reduce", true)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprint(w, sum)
}

// A job runs in memory too: so its tests need no Redis. In a program of its own it is job.Main(parity).
func ExampleRun() {
	log := memlog.New(memlog.Config{Job: "parity"})
	records, _ := memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) {
		epoch, instance, ok := log.Token()
		return store.Fence{Epoch: epoch, Instance: instance}, ok
	}})
	c, err := coordinator.Open(context.Background(), coordinator.Config{Job: "parity", Log: log, Store: records, Tasks: []events.TaskID{"task-1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	err = job.Run(context.Background(), job.Config{Job: parity, Log: log, Store: records})
	fmt.Println(err, totals.All())
	answer := httptest.NewRecorder()
	even(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/even", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output:
	// <nil> [1 2 4 6]
	// 200 6
}
