package state_test

import (
	"maps"
	"testing"
)

// Copies share nothing with the table or the view.
func TestCopiesAreTheReadersOwn(t *testing.T) {
	table := newTable[int, []int](t, 4)
	table.Put(1, []int{1})
	v, ok, err := table.Copy(1)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	v[0] = 99
	view := table.Freeze()
	for _, v := range view.Copies() {
		v[0] = 99
	}
	if v, _ := table.Get(1); v[0] != 1 || maps.Collect(view.All())[1][0] != 1 {
		t.Error(v)
	}
	if _, ok, err := table.Copy(2); ok || err != nil {
		t.Error(ok, err)
	}
}
