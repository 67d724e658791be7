package watch

// unsent is a release that was answered with NOSCRIPT, and whose script has not been sent since.
type unsent struct {
	step step
	// ignored says that the connection has sent something else since, or has ended: a client that was cut off meanwhile
	// cannot send the script.
	ignored bool
}

// ignores is called when a connection has sent something other than the script that a master asked for, or has ended.
func (l *Lint) ignores(conn int64) {
	if u := l.unsent[conn]; u != nil {
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
