package process

import (
	"fmt"
	"time"
)

// deaths records the ends of a server's process.
type deaths struct {
	process   *life     // the running process, or the last one
	diskFault bool      // the disk has a fault, so the server may end because it cannot write
	healed    time.Time // end of that fault; ends within lateNews after it are not reported
	stranger  string    // the run id of another server that answers in its place
	seen      string    // an end that Died has not reported yet
}

// lateNews is how late the end of a server can be reported that a fault of its disk had caused: a busy
// engine reports the end of a container late.
const lateNews = 2 * time.Second

// life is the state of one process of a server.
type life struct {
	ending int  // number of calls that are about to end it, or have ended it
	over   bool // the process has ended
	noted  bool // its end was recorded, because no call had caused it
}

// expectEnd records that a call is about to end the server. If the call then turns out to have sent nothing,
// it calls spared: an engine that is gone does not end its containers, but its own end may.
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

// hurtDisk records whether the server's disk has a fault.
func (s *server) hurtDisk(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaths.diskFault && !is {
		s.deaths.healed = time.Now()
	}
	s.deaths.diskFault = is
}

// watchForEnd waits for the end of a process of the server.
func (s *server) watchForEnd(l *life, exited <-chan struct{}) {
	<-exited
	s.mu.Lock()
	defer s.mu.Unlock()
	l.over = true
	s.noteEnd(l)
}

// noteEnd records the end of a process unless a call or its disk has ended it.
func (s *server) noteEnd(l *life) {
	if l.over && !l.noted && l.ending == 0 && !s.deaths.diskFault && time.Since(s.deaths.healed) > lateNews {
		l.noted = true
		s.deaths.seen = "its process ended, and no fault had ended it"
	}
}

// identify records the run id of the server that answers, if it is another server than the started one.
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
