package cli

import "testing"

// Every process of a run starts the program, and every completion of a word: the commands are built without reading the
// battery, the claims and the scenarios in the program, which takes eighty times as many allocations.
func TestCommandsAreBuiltWithoutReadingFiles(t *testing.T) {
	if got := testing.AllocsPerRun(3, func() { rootCommand() }); got > 30_000 {
		t.Errorf("building the commands allocates %.0f times", got)
	}
}

func BenchmarkCommands(b *testing.B) {
	for b.Loop() {
		rootCommand()
	}
}
