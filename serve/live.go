package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"sync"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/otherfile"
	"lockpick/reports/web"
)

// The intervals of a live page.
const (
	lookEach      = 100 * time.Millisecond // between two checks for more lines
	eventInterval = 500 * time.Millisecond // between two events to the browser
)

// live sends the state of a run as server-sent events, until the run is over or the browser disconnects. Each
// event is one JSON object (reports.Live).
func (s *Server) live(w http.ResponseWriter, r *http.Request, name string) {
	flush, ok := w.(http.Flusher)
	f, err := s.history(name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	run := &running{name: name, grown: time.Now()}
	read, caughtUp := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		run.end(run.read(&follower{ctx: ctx, file: f, over: func() bool { return s.judged(name) }, grew: run.grew, caughtUp: caughtUp}))
	})
	defer reading.Wait()
	defer cancel() // runs before reading.Wait
	w.Header().Set("Content-Type", "text/event-stream")
	each := time.NewTicker(eventInterval)
	defer each.Stop()
	select { // the first event contains all lines that exist already
	case <-read.Done():
	case <-each.C:
	}
	for {
		now, over := run.state(time.Now())
		if now.Phase == phaseDone {
			now.Report = s.pageOf(name, judge.ReportFile)
		}
		b, err := json.Marshal(now)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
			return
		}
		flush.Flush()
		if over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
	}
}

// livePage serves the page that shows the events of live.
func (s *Server) livePage(w http.ResponseWriter, r *http.Request, name string) {
	f, err := s.history(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	f.Close()
	page(w, func(out io.Writer) error { return writeLive(out, name) })
}

// history opens the history of a run.
func (s *Server) history(name string) (*os.File, error) {
	if !plain(name) {
		return nil, fs.ErrNotExist
	}
	return otherfile.OpenIn(s.root, path.Join(name, judge.HistoryFile))
}

// judged reports whether a run is over and its result and its report are written.
func (s *Server) judged(name string) bool {
	_, err := s.root.Stat(path.Join(name, judge.ResultFile))
	return err == nil && s.pageOf(name, judge.ReportFile) != ""
}

// follower reads a file that grows. It ends when over is true and the rest has been read.
type follower struct {
	ctx  context.Context
	file io.Reader
	over func() bool
	grew func()

	caughtUp func() // called when everything written so far has been read

	last bool // over was true before the latest read
}

func (f *follower) Read(p []byte) (int, error) {
	for {
		n, err := f.file.Read(p)
		if n > 0 {
			f.grew()
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		f.caughtUp()
		if f.last {
			return 0, io.EOF
		}
		if f.last = f.over(); f.last {
			continue
		}
		select {
		case <-f.ctx.Done():
			return 0, f.ctx.Err()
		case <-time.After(lookEach):
		}
	}
}

// running is the state of a run, as far as its history has been read.
type running struct {
	name string

	mu      sync.Mutex
	header  history.Header
	counts  judge.Counts
	watch   checker.Watch
	strikes []history.Op // operations of the nemesis
	grants  web.Seconds
	at      time.Duration
	ended   bool // the end mark was read
	over    bool
	err     error
	grown   time.Time // when the history last grew
}

// read reads a history while it grows.
func (r *running) read(in io.Reader) error {
	h, err := history.NewReader(in)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.header = h.Header()
	r.watch.Header = r.header
	r.mu.Unlock()
	var op history.Op
	for {
		op = history.Op{}
		if err := h.Read(&op); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		r.observe(op)
	}
}

func (r *running) observe(op history.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = op.Time
	r.ended = op.F == history.FEnd
	r.counts.Observe(&op)
	r.watch.Observe(op)
	if op.Process == history.Nemesis {
		r.strikes = append(r.strikes, op)
	}
	granted := 0
	if op.F == history.FAcquire && op.Type == history.OK {
		granted = 1
	}
	r.grants.Count(op.Time, granted)
}

func (r *running) grew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grown = time.Now()
}

func (r *running) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over, r.err = true, err
}

// state returns the data of a live page. over means that they will not change any more.
func (r *running) state(now time.Time) (live liveState, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	faults := history.Faults(r.strikes)
	c := r.counts
	c.Strike(faults)
	live = liveState{
		Name: r.name, Lock: r.header.Lock, Driver: r.header.Driver, Masters: r.header.Masters, Clients: r.header.Clients,
		Elapsed: r.at.Seconds(), Counts: c, Violations: r.watch.Violations(), Grants: grantRateOf(r.grants),
		Faults: liveFaults(faults, r.header.Persistence, r.at),
	}
	if at, ok := r.watch.First(); ok {
		s := at.Seconds()
		live.First = &s
	}
	switch silent := now.Sub(r.grown); {
	case r.over && r.err != nil:
		live.Phase, live.Problem = phaseBroken, r.err.Error()
	case r.over:
		live.Phase = phaseDone
	case r.ended:
		live.Phase = phaseJudging
	case silent > quiet:
		live.Phase, live.Silent = phaseSilent, silent.Seconds()
	default:
		live.Phase = phaseRunning
	}
	return live, r.over
}

// quiet is the time without a line after which a run counts as silent: its clients send commands many times a
// second, unless all of them wait for masters that are down.
const quiet = 10 * time.Second

func liveFaults(all []*history.Fault, persistence string, now time.Duration) (list []liveFault) {
	for _, f := range all {
		if !f.Installed {
			continue
		}
		text, _ := fault.Of(f.Name).Did(&fault.Scene{
			Masters: f.Masters, Clients: f.Clients, Params: f.Params, Persistence: fault.Persistence(persistence), AtPoint: fault.AtPoint(f.Params["point"]),
		})
		l := liveFault{Kind: f.Name, Text: text, From: f.From.Seconds(), To: max(f.From, now).Seconds(), Healed: f.Healed, Effective: f.TookEffect}
		if f.Healed {
			l.To = f.To.Seconds()
		}
		list = append(list, l)
	}
	return list
}
