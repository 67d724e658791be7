package process

import (
	"fmt"
	"time"
)

// deaths notes the ends of a server's process.
type deaths struct {
	expected bool      // a call is ending it
	hurt     bool      // its disk has a fault, so it may end because it cannot write,
	healed   time.Time // until then, and for lateNews more
	stranger string    // the run id of another server that answers in its place
	seen     string    // what Died has not reported yet
}

// lateNews is how long after the healing of its disk a server's end may be reported that the disk caused: a
// busy engine tells late that a container has ended.
const lateNews = 2 * time.Second

// expectEnd notes that a call is about to end the server.
func (s *server) expectEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaths.expected = true
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

// watchForUnexpectedEnd waits for the end of one run of the server, and notes it unless it was
// expected.
func (s *server) watchForUnexpectedEnd(exited <-chan struct{}, runID string) {
	<-exited
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deaths.expected && !s.deaths.hurt && time.Since(s.deaths.healed) > lateNews && s.info.runID == runID {
		s.deaths.seen = "its process ended, and no fault had ended it"
	}
}

// identify notes that a server answers that is not the one that was started.
func (s *server) identify(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if runID == "" || runID == s.info.runID || runID == s.deaths.stranger || !s.ready || s.deaths.expected {
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
