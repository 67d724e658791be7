package racetest

import "testing"

func TestExcludeSkipsUnderTheRaceDetectorAndWithShort(t *testing.T) {
	went := false
	t.Run("excluded", func(t *testing.T) {
		Exclude(t, "it is only a test")
		went = true
	})
	if want := !Enabled && !testing.Short(); went != want {
		t.Errorf("it went on: %v, want %v", went, want)
	}
}
