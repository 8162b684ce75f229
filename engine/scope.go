package engine

import "fmt"

// scope is whose state something is: an operator's, and of that one subtask's.
type scope struct {
	name string // of the operator's state, such as "store-1.sum"
	task *task
}

func (t *task) scope(name string) scope { return scope{name, t} }

func (s scope) partName() string { return subtaskName(s.name, s.task.index) }

// subtaskName names the item of one subtask; the first has the plain name, which is all there is with one subtask.
func subtaskName(name string, subtask int) string {
	if subtask == 0 {
		return name
	}
	return fmt.Sprintf("%s@%d", name, subtask)
}

// groupName names the item of a key group. Each subtask has groups of its own.
func (s scope) groupName(group int) string { return fmt.Sprintf("%s/%05d", s.name, group) }

// stored gives the names of the items to read: the subtask's own; or where they come from another number of subtasks, those of
// them all.
func (s scope) stored(items *items) []string {
	if items.parallelism == s.task.exec.parallelism {
		return []string{s.partName()}
	}
	var names []string
	for i := range items.parallelism {
		if name := subtaskName(s.name, i); items.has(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = append(names, s.name) // to be missed by name
	}
	return names
}

// owns says whether the subtask has a key group.
func (s scope) owns(group int) bool {
	return subtaskOf(group, s.task.cfg.MaxParallelism, s.task.exec.parallelism) == s.task.index
}
