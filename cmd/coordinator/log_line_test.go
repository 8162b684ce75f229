package main

import "testing"

func TestALineIsCutToTheTerminal(t *testing.T) {
	const text = `{"cause":"für die Nacht"}`
	for width, want := range map[int]string{
		0: text, -5: text, 10: text, 80: text, 25: text, 24: `{"cause":"für die Nacht…`, 20: `{"cause":"für die N…`,
	} {
		if got := cut(text, width); got != want {
			t.Errorf("%d columns: %s, want %s", width, got, want)
		}
	}
}

func TestAPatternMatchesItsPrefixOnly(t *testing.T) {
	if got, want := literal(`a*b?[c]\:{j}`), `a\*b\?\[c\]\\:{j}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
