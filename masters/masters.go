// Package masters serves a session (campaign.Session) to programs over HTTP: masters with a nemesis for the tests of
// somebody else.
//
//	a test ──► GET  /          the addresses of the masters, their states, the faults
//	       ──► POST /faults    install a fault      DELETE /faults, /faults/3: heal
//	       ──► POST /events    what its clients do with a lock, one JSON object a line
//	       ──► GET  /history   what was recorded so far
//	       ──► POST /stop      end the run; the answer is its result
//
// All paths begin with a secret, which the program that started the masters reads: neither a page in a browser nor
// another user of the machine can send anything. Errors are {"error": …} with what to do.
package masters

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/internal/loopback"
	"lockpick/reports"
)

// maxBody is the greatest size of a request, in bytes.
const maxBody = 1 << 20

// Server serves one session.
type Server struct {
	listener net.Listener
	hosts    []string
	prefix   string // the secret, as the beginning of paths
	web      *http.Server
	served   chan error

	session  *campaign.Session
	stopping chan struct{} // closed by the first POST /stop
	stop     sync.Once

	judged  chan struct{} // closed when result and failure are known
	judging sync.Once
	result  *judge.Result
	failure error // why there is no result
}

// State is what GET / answers, and what a program that starts masters reads first.
type State struct {
	API       string              `json:"api"`                // the URL before all paths
	Run       string              `json:"run"`                // the folder of the run
	Driver    string              `json:"driver"`             // docker, process, …
	Server    string              `json:"server"`             // name and version of the servers
	TTLMS     int64               `json:"ttl_ms"`             // the greatest TTL of a lease
	Addresses []string            `json:"addresses"`          // of the masters, through the links of c1
	Clients   map[string][]string `json:"clients"`            // the same for each client, through links of its own
	User      string              `json:"user,omitempty"`     // whom clients log in as; "": they need not log in
	Password  string              `json:"password,omitempty"` // of the user
	CA        string              `json:"ca,omitempty"`       // path of a PEM file: clients speak TLS, and this authority signed the masters' certificates
	Masters   map[string]string   `json:"masters"`            // up, paused or down
	Faults    []Fault             `json:"faults"`             // installed now
	Kinds     []string            `json:"kinds"`              // of faults that can be installed
}

// Fault is an installed fault.
type Fault struct {
	ID      int      `json:"id"`
	Fault   string   `json:"fault"`
	Masters []string `json:"masters,omitempty"`
	Clients []string `json:"clients,omitempty"`
	For     string   `json:"for,omitempty"` // "": until it is healed
}

// New returns a server that will answer at a listener, which Close closes.
func New(listener net.Listener) (*Server, error) {
	s := &Server{listener: listener, prefix: "/" + strings.ToLower(rand.Text()), served: make(chan error, 1), stopping: make(chan struct{}), judged: make(chan struct{})}
	s.web = loopback.Server(s)
	var err error
	s.hosts, err = loopback.Hosts(listener.Addr())
	return s, err
}

// Serve is campaign.Options.Session: it serves a session until POST /stop or the end of ctx. ready is called with the
// state when requests are answered.
func (s *Server) Serve(ctx context.Context, session *campaign.Session, ready func(State)) error {
	s.session = session
	go func() { s.served <- s.web.Serve(s.listener) }()
	ready(s.state())
	select {
	case <-s.stopping:
	case <-ctx.Done():
		s.stop.Do(func() { close(s.stopping) })
	}
	return nil
}

// Judged answers the requests that wait for the result.
func (s *Server) Judged(r *judge.Result) { s.conclude(r, nil) }

func (s *Server) conclude(r *judge.Result, err error) {
	s.judging.Do(func() {
		s.result, s.failure = r, err
		close(s.judged)
	})
}

// Close ends the server. Requests that still wait for a result are answered with err.
func (s *Server) Close(err error) error {
	s.conclude(nil, err)
	if s.session == nil {
		return s.listener.Close()
	}
	err = loopback.Stop(s.web) // served ends with it
	if ended := <-s.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// ended reports whether the session has ended.
func (s *Server) ended() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !loopback.Admit(w, r, s.hosts) {
		return
	}
	path, known := strings.CutPrefix(r.URL.Path, s.prefix)
	id, one := strings.CutPrefix(path, "/faults/")
	if one {
		path = "/faults/"
	}
	switch {
	case !known || loopback.FromElsewhere(r):
		refuse(w, http.StatusForbidden, errors.New("this is not the address that lockpick masters printed: it has a secret before the path"))
		return
	case s.ended() && r.Method+" "+path != "POST /stop":
		refuse(w, http.StatusGone, errors.New("the masters have been stopped"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	switch r.Method + " " + path {
	case "GET ", "GET /":
		answer(w, s.state())
	case "POST /faults":
		s.install(w, r)
	case "DELETE /faults":
		s.session.HealAll()
		answer(w, s.state())
	case "DELETE /faults/":
		if n, err := strconv.Atoi(id); err != nil || !s.session.Heal(n) {
			refuse(w, http.StatusNotFound, fmt.Errorf("no fault %s is installed: GET / lists the faults", id))
			return
		}
		answer(w, s.state())
	case "POST /events":
		s.events(w, r)
	case "GET /history":
		w.Header().Set("Content-Type", "application/jsonl")
		http.ServeFile(w, r, filepath.Join(s.session.Dir(), judge.HistoryFile))
	case "POST /stop":
		s.stop.Do(func() { close(s.stopping) })
		<-s.judged
		if s.result == nil {
			refuse(w, http.StatusInternalServerError, fmt.Errorf("the run has no result: %w", s.failure))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = reports.JSON(w, s.result) // too late for an error status
	default:
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no %s %s: GET /, POST /faults, DELETE /faults, DELETE /faults/ID, POST /events, GET /history, POST /stop", r.Method, path))
	}
}

// install installs the fault in a request: a step of a schedule, without a time.
func (s *Server) install(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	step, err := scenario.ParseStep(body, scenario.Step{For: campaign.UntilHealed})
	if err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf(`%w: write {"fault":"kill","masters":["m1"],"for":"2s"}`, err))
		return
	}
	f, err := s.session.Install(context.WithoutCancel(r.Context()), step)
	var wrong *scenario.Problem
	switch {
	case errors.As(err, &wrong):
		refuse(w, http.StatusBadRequest, wrong)
	case err != nil:
		refuse(w, http.StatusConflict, err)
	default:
		answer(w, faultOf(f))
	}
}

// events records the events in a request. Those before one that is wrong are recorded.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	for n := 0; ; n++ {
		var e campaign.Event
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			answer(w, map[string]int{"recorded": n})
			return
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, fmt.Errorf("event %d: %w: write {\"event\":\"acquired\",\"client\":\"c1\",\"key\":\"orders\",\"token\":\"…\",\"ttl_ms\":2000}", n+1, err))
			return
		}
		if err := s.session.Report(e); err != nil {
			refuse(w, http.StatusConflict, fmt.Errorf("event %d: %w", n+1, err))
			return
		}
	}
}

func (s *Server) state() State {
	x := s.session
	driver, server, version := x.Driver()
	st := State{
		API: "http://" + s.hosts[0] + s.prefix, Run: x.Dir(), Driver: driver, Server: strings.TrimSpace(server + " " + version), TTLMS: x.TTL().Milliseconds(),
		Clients: x.Addresses(), Masters: map[string]string{}, Faults: []Fault{}, Kinds: x.Faults(),
	}
	st.Addresses = st.Clients["c1"]
	access := x.Access()
	st.User, st.Password, st.CA = access.User, access.Password, access.CA
	names, states := x.Masters()
	for i, name := range names {
		st.Masters[name] = string(states[i])
	}
	for _, f := range x.Installed() {
		st.Faults = append(st.Faults, faultOf(f))
	}
	return st
}

func faultOf(f campaign.Fault) Fault {
	x := Fault{ID: f.ID, Fault: f.Step.Fault, Masters: f.Masters, Clients: f.Clients, For: f.Step.For.String()}
	if f.Step.For == campaign.UntilHealed {
		x.For = ""
	}
	return x
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}
