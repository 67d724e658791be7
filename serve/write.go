package serve

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"lockpick/campaign/judge"
	"lockpick/internal/loopback"
	"lockpick/internal/otherfile"
)

// LabelFile is the name of the file with a run's label in the run's folder.
const LabelFile = "label.txt"

// maxLabel is the greatest length of a label, in bytes.
const maxLabel = 200

// maxForm is the greatest size of a form, in bytes: a store may have thousands of runs.
const maxForm = 1 << 20

// recent is the time after its last line in which a run without a result cannot be deleted, because it may be
// in progress.
const recent = time.Minute

// ask shows the form for a label, or the question before a deletion.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, action string) {
	entries, ok := s.chosen(w, r.URL.Query()["run"], action)
	if !ok {
		return
	}
	page(w, func(out io.Writer) error {
		return changePage.Write(out, &pageData{Asked: &change{Action: action, Entries: entries, Token: s.token}})
	})
}

// change labels or deletes the runs that a form names.
func (s *Server) change(w http.ResponseWriter, r *http.Request, action string) {
	// Only the program's own pages contain the token. Pages of the store cannot read them, and browsers send
	// the origin of a form.
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	if loopback.FromElsewhere(r) || subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(s.token)) != 1 {
		http.Error(w, "this form is not of a page of this server, or of one that has ended: go back and load it again", http.StatusForbidden)
		return
	}
	entries, ok := s.chosen(w, r.PostForm["run"], action)
	if !ok {
		return
	}
	for _, e := range entries {
		var err error
		if action == "delete" {
			err = s.delete(e)
		} else {
			err = s.label(e.Name, r.PostForm.Get("label"))
		}
		if err != nil {
			fail(w, err)
			return
		}
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// chosen returns the entries that a request names: for a label exactly one. If it returns false, it has sent
// an error.
func (s *Server) chosen(w http.ResponseWriter, names []string, action string) (entries []Entry, ok bool) {
	if len(names) == 0 || action == "label" && len(names) != 1 {
		http.Error(w, "which runs? Tick them in the list", http.StatusBadRequest)
		return nil, false
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		e, ok := s.folder(name)
		if !ok {
			http.Error(w, "no such run in the store: the list may be older than a change", http.StatusNotFound)
			return nil, false
		}
		entries = append(entries, e)
	}
	return entries, true
}

// folder returns the entry of a folder. It does not follow links.
func (s *Server) folder(name string) (Entry, bool) {
	if !plain(name) {
		return Entry{}, false
	}
	if info, err := s.root.Lstat(name); err != nil || !info.IsDir() {
		return Entry{}, false
	}
	return s.entry(name)
}

func (s *Server) label(name, label string) error {
	label = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, label))
	if len(label) > maxLabel {
		return fmt.Errorf("%w: a label has at most %d bytes", errRefused, maxLabel)
	}
	file := path.Join(name, LabelFile)
	if label == "" {
		if err := s.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return s.root.WriteFile(file, []byte(label+"\n"), 0o644)
}

// labelOf returns the label of a folder, or "" if it has none.
func (s *Server) labelOf(name string) string {
	b, err := otherfile.ReadIn(s.root, path.Join(name, LabelFile), otherfile.MaxLabel)
	if err != nil || len(b) > maxLabel+1 {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (s *Server) delete(e Entry) error {
	if _, err := s.root.Stat(path.Join(e.Name, judge.ResultFile)); e.Kind == "run" && err != nil {
		if info, err := s.root.Stat(path.Join(e.Name, judge.HistoryFile)); err == nil && time.Since(info.ModTime()) < recent {
			return fmt.Errorf("%w: %s may still be going on: its last line is less than %v old", errRefused, e.Name, recent)
		}
	}
	if err := s.root.RemoveAll(e.Name); err != nil {
		return fmt.Errorf("delete %s: %w", e.Name, err)
	}
	return s.store.RemoveDanglingLatest()
}

// errRefused is wrapped by errors about changes that are not allowed.
var errRefused = errors.New("not done")
