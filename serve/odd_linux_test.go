package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockpick/campaign"
	"lockpick/internal/waittest"
)

// TestOddFilesAreNotServed: pages of a store answer although a run's files are pipes, sparse files or folders.
func TestOddFilesAreNotServed(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	name := ran(t, store, "none")
	for _, file := range []string{"label.txt", "result.json", "scenario.yaml", "history.jsonl", "report.html"} {
		for kind, replace := range map[string]func(path string) error{
			"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"sparse": func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		} {
			if kind == "sparse" && (file == "history.jsonl" || file == "report.html") {
				continue // they are served as they are
			}
			odd := filepath.Join(store.Dir, "20260101T000000-odd")
			if err := os.CopyFS(odd, os.DirFS(filepath.Join(store.Dir, name))); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(odd, file)
			_ = os.Remove(path)
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			if kind == "sparse" {
				if err := os.Truncate(path, 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			waittest.Returns(file+" is a "+kind, func() {
				s := opened(t, store)
				if w := ask(s, http.MethodGet, "/", here); w.Code != http.StatusOK {
					t.Errorf("%s is a %s: %d", file, kind, w.Code)
				}
				if kind != "sparse" { // it would be sent as it is
					ask(s, http.MethodGet, "/store/20260101T000000-odd/"+file, here)
				}
				ask(s, http.MethodGet, "/diff?run=20260101T000000-odd&run="+name, here)
			})
			if err := os.RemoveAll(odd); err != nil {
				t.Fatal(err)
			}
		}
	}
}
