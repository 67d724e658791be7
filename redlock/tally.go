package redlock

// tally counts the votes on one command.
type tally struct {
	masters, quorum int
	yes, no, failed int
	votes           []Vote
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

// won says that a quorum said yes. Quorum is counted over all masters, never over
// those that answer.
func (t *tally) won() bool { return t.yes >= t.quorum }

// lost says that too few are left for a quorum to say yes.
func (t *tally) lost() bool { return t.no+t.failed > t.masters-t.quorum }

// decided says that SET has a quorum, or can get none any more. Why it can get
// none may be less than certain: what counts then is to release at once.
func (t *tally) decided() bool { return t.won() || t.lost() }

// unreachable says that too few masters answer for any quorum.
func (t *tally) unreachable() bool { return t.failed > t.masters-t.quorum }

// refused says that so many masters said no that no quorum could have said yes.
func (t *tally) refused() bool { return t.no > t.masters-t.quorum }

// answered says that a quorum of masters said yes or no.
func (t *tally) answered() bool { return t.yes+t.no >= t.quorum }

// settled says that no vote to come can make it won or refused, if it is not yet.
func (t *tally) settled() bool {
	left := t.masters - t.yes - t.no - t.failed
	return t.won() || t.refused() || t.yes+left < t.quorum && t.no+left <= t.masters-t.quorum
}
