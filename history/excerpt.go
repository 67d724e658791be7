package history

import "slices"

// Excerpt says which lines of a history that is too long to be kept in memory are kept: everything in some
// spans, some lines with those around them, and of the rest what the nemesis, the harness and the
// masters' states tell. What began in a kept line is kept up to its end.
type Excerpt struct {
	Spans  []Span
	Lines  []int // indices of lines
	Around int   // so many lines before and after each of them are kept, too
	Most   int   // so many lines are kept at most for the spans

	lines  int
	tokens map[string]bool   // granted in lines that are kept
	begun  map[string]string // by process: the operation of which the beginning was kept, and not yet the end
}

// ReadExcerpt reads an excerpt of the history in a file. Its operations keep their indices, so an
// operation's position is not its index (see At), and Whole tells how many lines there are in all.
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

// clone copies what the next line that is scanned overwrites.
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
	case op.Process == Nemesis, op.Process == Harness, op.F == FState, op.F == FDied:
		return true
	case op.votes() || op.F == FLook:
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

// near says that an operation is beside one of the lines, or in one of the spans while there is room.
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

// At returns the position of the operation with an index, or of the next one that there is. It is the
// index itself unless h is an excerpt.
func (h *History) At(index int) (position int, found bool) {
	if h.Whole == 0 {
		return min(max(index, 0), len(h.Ops)), 0 <= index && index < len(h.Ops)
	}
	return slices.BinarySearchFunc(h.Ops, index, func(op Op, index int) int { return op.Index - index })
}
