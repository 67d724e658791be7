package racetest

import "testing"

func TestExcludeSkipsUnderTheRaceDetectorAlone(t *testing.T) {
	t.Run("a test", func(t *testing.T) {
		skipped := false
		func() {
			r := &recorder{TB: t, name: "TestX"}
			defer func() { skipped = recover() != nil }()
			Exclude(r, "it is only a test")
		}()
		if skipped != (Enabled || testing.Short()) {
			t.Errorf("skipped: %v; race detector: %v", skipped, Enabled)
		}
	})
	t.Run("a subtest", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("a subtest was taken")
			}
		}()
		Exclude(&recorder{TB: t, name: "TestX/part"}, "it is only a test")
	})
}

// recorder ends a test by a panic that its caller recovers.
type recorder struct {
	testing.TB
	name string
}

func (r *recorder) Name() string              { return r.name }
func (r *recorder) Helper()                   {}
func (r *recorder) Skip(args ...any)          { panic(args) }
func (r *recorder) Fatalf(s string, _ ...any) { panic(s) }
