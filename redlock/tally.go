package redlock

// tally counts the votes on one command.
type tally struct {
	masters, quorum int
	yes, no, failed int
	votes           []Vote
	enough          func(*tally) bool // no more votes are needed
}

// Count implements protocol.Counter.
func (t *tally) Count(v Vote) bool {
	t.add(v)
	return !t.enough(t)
}

func (t *tally) add(v Vote) {
	t.votes = append(t.votes, v)
	switch {
	case v.Yes:
		t.yes++
	case v.Err != nil:
		t.failed++
	default:
		t.no++
	}
}

// won reports whether a quorum voted yes. The quorum is a majority of all masters, not of
// those that answered.
func (t *tally) won() bool { return t.yes >= t.quorum }

// lost reports whether a quorum of yes votes is no longer possible.
func (t *tally) lost() bool { return t.no+t.failed > t.masters-t.quorum }

// decided reports whether the votes on SET have a quorum or can no longer get one. In the
// second case later votes could still change the reason (ErrTaken or ErrNoQuorum), but it
// is better to release immediately.
func (t *tally) decided() bool { return t.won() || t.lost() }

// unreachable reports whether so many masters failed that the others are not a quorum.
func (t *tally) unreachable() bool { return t.failed > t.masters-t.quorum }

// refused reports whether so many masters voted no that a quorum of yes votes is
// impossible.
func (t *tally) refused() bool { return t.no > t.masters-t.quorum }

// answered reports whether a quorum of masters voted yes or no.
func (t *tally) answered() bool { return t.yes+t.no >= t.quorum }

// settled reports whether the votes are won or refused, or can no longer become either.
func (t *tally) settled() bool {
	left := t.masters - t.yes - t.no - t.failed
	return t.won() || t.refused() || t.yes+left < t.quorum && t.no+left <= t.masters-t.quorum
}
