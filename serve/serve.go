// Package serve shows a store in a browser: the list of its runs, claims and audits, their reports, a run in
// progress, the differences between two runs, and the changes from run to run. It changes nothing, unless it
// is configured to let people label and delete runs.
//
// pages.go, trend_page.go and live_page.go render the pages of the store itself, each from a template under page/. Files in a store may come from somebody else, so every file is served in
// a sandbox: a page of the store has access neither to the other pages nor to the network. The server answers
// only requests that name its own address, so that no page elsewhere can reach it under another name.
package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"lockpick/audit/card"
	"lockpick/internal/loopback"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/reports/diff"
)

// Server serves one store.
type Server struct {
	store campaign.Store
	root  *os.Root // gives no access outside of the store
	hosts []string // allowed values of the Host header

	writable bool
	token    string // token in the forms of this server

	closing context.Context // its end stops live pages
	close   context.CancelFunc

	mu   sync.Mutex
	read map[string]known // cache of entries, by folder
}

// New returns a server for a store. listen is the address, on this machine, at which it will be served. A
// writable server lets people label and delete runs.
func New(store campaign.Store, listen net.Addr, writable bool) (*Server, error) {
	s, err := open(store)
	if err != nil {
		return nil, err
	}
	if s.hosts, err = loopback.Hosts(listen); err != nil {
		return nil, errors.Join(fmt.Errorf("serve: %w", err), s.Close())
	}
	s.writable, s.token = writable, rand.Text()
	return s, nil
}

// open opens a store without allowing any requests: it sets no hosts.
func open(store campaign.Store) (*Server, error) {
	root, err := os.OpenRoot(store.Dir)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	closing, stop := context.WithCancel(context.Background())
	return &Server{closing: closing, close: stop, store: store, root: root, read: map[string]known{}}, nil
}

// Close ends live pages and closes the store.
func (s *Server) Close() error {
	s.close()
	return s.root.Close()
}

// filePolicy is the content security policy of files of the store. Pages of the program have theirs in them.
const filePolicy = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !loopback.Admit(w, r, s.hosts) {
		return
	}
	switch {
	case s.writable && (r.URL.Path == "/label" || r.URL.Path == "/delete") && r.Method == http.MethodPost:
		s.change(w, r, r.URL.Path[1:])
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this server only shows: lockpick serve --write lets you label and delete runs", http.StatusMethodNotAllowed)
	case s.writable && (r.URL.Path == "/label" || r.URL.Path == "/delete"):
		s.ask(w, r, r.URL.Path[1:])
	case r.URL.Path == "/trend":
		s.trend(w, r.URL.Query())
	case r.URL.Path == "/":
		s.list(w)
	case r.URL.Path == "/diff":
		s.diff(w, r.URL.Query()["run"])
	default:
		for prefix, answer := range map[string]func(http.ResponseWriter, *http.Request, string){"/store/": s.file, "/live/": s.livePage, "/events/": s.live} {
			if name, ok := strings.CutPrefix(r.URL.Path, prefix); ok {
				answer(w, r, name)
				return
			}
		}
		http.NotFound(w, r)
	}
}

func (s *Server) list(w http.ResponseWriter) {
	entries, err := s.entries()
	if err != nil {
		fail(w, err)
		return
	}
	list := entryList{Dir: s.store.Dir, Entries: entries, Writable: s.writable}
	if to := s.pageOf("", card.ScoreboardFile); to != "" {
		list.Links = append(list.Links, pageLink{Text: "Scoreboard", Href: to})
	}
	page(w, func(out io.Writer) error { return listPage.Write(out, &pageData{entryList: list}) })
}

func (s *Server) diff(w http.ResponseWriter, names []string) {
	if len(names) != 2 {
		http.Error(w, "which runs? Tick two in the list", http.StatusBadRequest)
		return
	}
	var runs [2]diff.Run
	var pages [2]string
	for i, name := range names {
		// s.root does not follow links that lead outside of the store.
		if _, err := s.root.Stat(path.Join(name, judge.ResultFile)); !plain(name) || err != nil {
			http.Error(w, "no such run, or one without a result: lockpick check judges it", http.StatusNotFound)
			return
		}
		run, err := diff.Open(s.store, filepath.Join(s.store.Dir, name))
		if err != nil {
			fail(w, err)
			return
		}
		runs[i], pages[i] = run, s.pageOf(name, judge.ReportFile)
	}
	page(w, func(out io.Writer) error {
		return diffPage.Write(out, &pageData{Diff: diff.Compare(runs[0], runs[1]), Pages: pages})
	})
}

// plain reports whether a name can be the name of a folder in the store, and not a path.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\`+"\x00")
}

// file serves a file of the store. For a folder it redirects to the folder's page.
func (s *Server) file(w http.ResponseWriter, r *http.Request, name string) {
	name = path.Clean("/" + name)[1:]
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not wait for a writer
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		fail(w, err)
		return
	case info.IsDir():
		for _, index := range []string{judge.ReportFile, "index.html"} {
			if to := s.pageOf(name, index); to != "" {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
		}
		http.Error(w, "it has no report: lockpick show "+path.Base(name)+" writes one", http.StatusNotFound)
		return
	case !info.Mode().IsRegular():
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", filePolicy)
	kind := "text/plain; charset=utf-8"
	switch path.Ext(name) {
	case ".html":
		kind = "text/html; charset=utf-8"
	case ".gz", ".zst":
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// pageOf returns the address of a file in a folder of the store, or "" if the file does not exist.
func (s *Server) pageOf(folder, file string) string {
	name := path.Join(folder, file)
	if info, err := s.root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return (&url.URL{Path: "/store/" + name}).String()
}

// page writes a page of the program.
func page(w http.ResponseWriter, write func(io.Writer) error) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := write(w); err != nil {
		log.Printf("serve: %v", err) // too late for an error status: the response has begun
	}
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status = http.StatusNotFound
	case errors.Is(err, errRefused):
		status = http.StatusConflict
	}
	http.Error(w, err.Error(), status)
}

// HTTP returns an HTTP server for s. Its Shutdown ends live pages.
func (s *Server) HTTP() *http.Server {
	web := loopback.Server(s)
	web.RegisterOnShutdown(s.close)
	return web
}
