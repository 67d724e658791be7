package watch

import "time"

// unsent is a release that was answered with NOSCRIPT, and whose script has not been sent since.
type unsent struct {
	step step
	// ignored says that the connection has sent something else since, or has ended: a client that was cut off meanwhile
	// cannot send the script.
	ignored bool
}

// ignores is called when a connection has sent something other than the script that a master asked for, or has ended. What
// was sent before the master asked is not an answer to it: a connection may have sent several commands before the first reply.
func (l *Lint) ignores(conn int64, sent time.Duration) {
	if u := l.unsent[conn]; u != nil && sent > u.step.at {
		u.ignored = true
		delete(l.unsent, conn)
	}
}

// sentScript is called when a client has called a script that the master knows: what it called before with the same
// token, and the master did not know, is done, whatever the script does.
func (l *Lint) sentScript(s *step, argv []string) {
	c := l.cells[s.key]
	if c == nil || len(c.noscript) == 0 {
		return
	}
	for _, a := range argv {
		if token := l.mask.token(a); c.noscript[token] != nil && c.noscript[token].step.sha == s.sha {
			delete(c.noscript, token)
		}
	}
}
