package history

import "slices"

// Excerpt selects the lines to keep of a history that is too long for memory: all lines in some
// spans, some lines with the lines around them, and otherwise only the lines of the nemesis, the
// harness and the masters' states. If the beginning of a call or lease is kept, so is its end.
type Excerpt struct {
	Spans  []Span
	Lines  []int // indices of lines
	Around int   // how many lines before and after each of Lines are kept, too
	Most   int   // how many lines are kept at most for the spans; 0: no limit

	lines  int
	tokens map[string]bool   // tokens granted in kept lines and not released yet
	begun  map[string]string // by process: the operation whose invocation was kept and that has not returned yet
}

// ReadExcerpt reads an excerpt of the history in a file. The operations keep their indices, so an
// operation's position is not its index (see At). Whole is the number of lines of the whole history.
func ReadExcerpt(path string, e Excerpt) (*History, error) {
	slices.Sort(e.Lines)
	e.tokens, e.begun = map[string]bool{}, map[string]string{}
	var ops []Op
	whole := 0
	h, err := ScanFile(path, func(op *Op) error {
		whole++
		if e.keeps(op) {
			ops = append(ops, op.clone())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	h.Ops, h.Whole = ops, whole
	return h, nil
}

// clone copies an operation and its value, since Scan reuses both for the next line.
func (op *Op) clone() Op {
	c := *op
	if op.Value != nil {
		value := *op.Value
		c.Value = &value
	}
	return c
}

func (e *Excerpt) keeps(op *Op) bool {
	switch {
	case op.Process == Nemesis, op.Process == Harness, op.F == FState, op.F == FDied, op.F == FElected, op.Foreign():
		return true
	case op.votes() || op.F == FSnapshot:
		return e.near(op)
	}
	completes := op.Type != Invoke && op.F == e.begun[op.Process]
	if completes {
		delete(e.begun, op.Process)
	}
	token := ""
	if op.Value != nil {
		token = op.Value.Token
	}
	if !completes && !(token != "" && e.tokens[token]) && !e.near(op) {
		return false
	}
	switch {
	case op.Type == Invoke:
		e.begun[op.Process] = op.F
	case op.F == FAcquire && op.Type == OK && token != "":
		e.tokens[token] = true
	case op.F == FRelease || op.F == FCrash:
		delete(e.tokens, token)
	}
	return true
}

// near reports whether an operation is near one of Lines, or in one of Spans before Most lines were
// kept.
func (e *Excerpt) near(op *Op) bool {
	next, _ := slices.BinarySearch(e.Lines, op.Index-e.Around)
	if next < len(e.Lines) && e.Lines[next] <= op.Index+e.Around {
		return true
	}
	for _, s := range e.Spans {
		if s.From <= op.Time && op.Time < s.To {
			e.lines++
			return e.Most == 0 || e.lines <= e.Most
		}
	}
	return false
}

// At returns the position of the operation with an index and true, or the position of the next
// operation and false. Unless h is an excerpt, the position is the index.
func (h *History) At(index int) (position int, found bool) {
	if h.Whole == 0 {
		return min(max(index, 0), len(h.Ops)), 0 <= index && index < len(h.Ops)
	}
	return slices.BinarySearchFunc(h.Ops, index, func(op Op, index int) int { return op.Index - index })
}
