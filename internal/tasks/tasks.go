package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// Share is "i/n": the i-th of n equal shares, from 1.
type Share struct{ Number, Count int }

// Max is the largest n: a trigger names every task, and an event is at most 8 MiB.
const Max = 100_000

// ParseShare reads "i/n" with 1 <= i <= n.
func ParseShare(s string) (Share, error) {
	number, count, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(number)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || i < 1 || n < i || n > Max {
		return Share{}, fmt.Errorf("%q is not of the form i/n with 1 <= i <= n <= %d, such as 2/3", s, Max)
	}
	return Share{i, n}, nil
}

// Task is the id of the share's task.
func (s Share) Task() events.TaskID { return ID(s.Number) }

// ID is the id of task number i, from 1: task-1, task-2, ….
func ID(i int) events.TaskID { return events.TaskID("task-" + strconv.Itoa(i)) }

// Parse reads what a coordinator expects: a number n for task-1 to task-n, or names with commas between them.
func Parse(s string) ([]events.TaskID, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > Max {
			return nil, fmt.Errorf("%d tasks are not within 1 to %d", n, Max)
		}
		tasks := make([]events.TaskID, n)
		for i := range tasks {
			tasks[i] = ID(i + 1)
		}
		return tasks, nil
	}
	var tasks []events.TaskID
	for name := range strings.SplitSeq(s, ",") {
		task, err := events.ParseTaskID(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if slices.Contains(tasks, task) {
			return nil, fmt.Errorf("task %s stands twice", task)
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}
