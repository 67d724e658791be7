package history

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesAreInTheOrderOfTheirNumbers(t *testing.T) {
	names := []string{"c10", "c2", "b", "m1", "c1"}
	slices.SortFunc(names, CompareNames)
	if got := strings.Join(names, " "); got != "b c1 c2 c10 m1" {
		t.Errorf("sorted: %s", got)
	}
}
