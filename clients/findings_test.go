package clients

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestFindingsHaveTheirPrograms: no program is forgotten, and each is started by one finding.
func TestFindingsHaveTheirPrograms(t *testing.T) {
	files, err := filepath.Glob("findings/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, path := range files {
		files[i] = filepath.Base(path)
	}
	var named []string
	for _, f := range Findings {
		if f.file != "" {
			named = append(named, f.file)
		}
	}
	slices.Sort(named)
	if !slices.Equal(files, named) {
		t.Errorf("findings/ has %q, the list %q", files, named)
	}
}
