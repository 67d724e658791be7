package process

import (
	"fmt"
	"time"
)

// deaths notes the ends of a server's process.
type deaths struct {
	process  *life     // the one that runs, or ran last
	hurt     bool      // its disk has a fault, so it may end because it cannot write,
	healed   time.Time // until then, and for lateNews more
	stranger string    // the run id of another server that answers in its place
	seen     string    // what Died has not reported yet
}

// lateNews is how long after the healing of its disk a server's end may be reported that the disk caused: a
// busy engine tells late that a container has ended.
const lateNews = 2 * time.Second

// life is that of one process of a server.
type life struct {
	ending int  // calls that are about to end it, or have
	over   bool // it has ended,
	noted  bool // by itself, which has been noted
}

// expectEnd notes that a call is about to end the server. The call that turns out to have sent nothing calls
// spared: an engine that is gone does not end its containers, but its own end may.
func (s *server) expectEnd() (spared func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.deaths.process
	if l == nil {
		return func() {} // it was never up
	}
	l.ending++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.ending--
		s.noteEnd(l)
	}
}

// hurtDisk notes whether the server's disk has a fault.
func (s *server) hurtDisk(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaths.hurt && !is {
		s.deaths.healed = time.Now()
	}
	s.deaths.hurt = is
}

// watchForEnd waits for the end of a process of the server.
func (s *server) watchForEnd(l *life, exited <-chan struct{}) {
	<-exited
	s.mu.Lock()
	defer s.mu.Unlock()
	l.over = true
	s.noteEnd(l)
}

// noteEnd notes the end of a process unless a call ended it, or its disk.
func (s *server) noteEnd(l *life) {
	if l.over && !l.noted && l.ending == 0 && !s.deaths.hurt && time.Since(s.deaths.healed) > lateNews {
		l.noted = true
		s.deaths.seen = "its process ended, and no fault had ended it"
	}
}

// identify notes that a server answers that is not the one that was started.
func (s *server) identify(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if runID == "" || runID == s.info.runID || runID == s.deaths.stranger || !s.ready || s.deaths.process.ending > 0 {
		return
	}
	s.deaths.stranger = runID
	s.deaths.seen = fmt.Sprintf("the server that answers is another one (run id %.8s), and no fault had ended the first (%.8s)", runID, s.info.runID)
}

// Died reports on the server that is the master now.
func (m *master) Died() string {
	var died string
	for i, s := range m.servers() {
		s.mu.Lock()
		if i == 0 { // the others are replicas
			died = s.deaths.seen
		}
		s.deaths.seen = ""
		s.mu.Unlock()
	}
	return died
}
