package engine

// absentInput stands for a source that another task reads: for what is behind it, it has ended.
type absentInput[T any] struct {
	out *output[T]
}

func (absentInput[T]) ready() bool        { return false }
func (absentInput[T]) drain(*task) error  { return nil }
func (absentInput[T]) quiet() bool        { return true }
func (absentInput[T]) absent() bool       { return true }
func (absentInput[T]) settle(*task) error { return nil }

func (in absentInput[T]) finish(t *task) (bool, error) {
	return true, t.protect(func() error {
		t.begin(position{})
		return in.out.watermark(MaxWatermark)
	})
}

// allAbsent says whether nothing comes through any of the inputs.
func allAbsent(ins []input) bool {
	for _, in := range ins {
		if !in.absent() {
			return false
		}
	}
	return true
}
