package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	xterm "golang.org/x/term"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/reports/term"
)

// progress shows the progress of a run on stderr: a bar on a terminal, otherwise a line every
// few seconds.
type progress struct {
	mu       sync.Mutex
	terminal bool
	bar      *progressbar.ProgressBar
	last     time.Time
	stepped  time.Time // when steps last updated the display
}

// every is the time between two lines where stderr is not a terminal.
const every = 5 * time.Second

func newProgress() *progress {
	return &progress{terminal: xterm.IsTerminal(int(os.Stderr.Fd())), last: time.Now()}
}

func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(os.Stderr, term.PrintableLines(fmt.Sprintf(format, args...))) // clients and catalogues wrote some of it
}

func (p *progress) live(s campaign.Status) {
	p.show(describe(s), min(s.Elapsed, s.Limit).Milliseconds(), s.Limit.Milliseconds())
}

// steps shows how many steps are done. It may be called for every step: it updates the display at most ten
// times a second.
func (p *progress) steps(done, all int, text func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.stepped) > 100*time.Millisecond {
		p.stepped = time.Now()
		p.showLocked(text(), int64(done), int64(all))
	}
}

// show shows a text, and done of all as a bar.
func (p *progress) show(text string, done, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.showLocked(text, done, all)
}

// showLocked is show for a caller that holds p.mu.
func (p *progress) showLocked(text string, done, all int64) {
	if !p.terminal {
		if time.Since(p.last) >= every {
			p.last = time.Now()
			fmt.Fprintln(os.Stderr, text)
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(all,
			progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetWidth(16), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false), progressbar.OptionThrottle(0))
	}
	p.bar.Describe(fitting(text, stderrWidth()-besideText))
	_ = p.bar.Set64(min(done, all))
}

// besideText is the number of columns that the bar takes beside the text: spaces, 100%, two edges, and 16 cells; and
// one that stays free, because a line that fills the terminal wraps and then cannot be redrawn.
const besideText = 28

// stderrWidth returns the number of columns of the terminal that stderr is.
func stderrWidth() int {
	width, _, err := xterm.GetSize(int(os.Stderr.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// fitting shortens a text to a number of columns.
func fitting(text string, columns int) string {
	r := []rune(text)
	if columns = max(columns, 1); len(r) > columns {
		return string(r[:columns-1]) + "…"
	}
	return text
}

func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil // the next stage has another length
	}
}

// describe renders a status in one line: elapsed time, stage, leases granted, violations of mutual exclusion, and current
// faults. It names the level, because no other property is judged before the run is over.
func describe(s campaign.Status) string {
	faults := "no fault now"
	if len(s.Faults) > 0 {
		faults = strings.Join(s.Faults, "; ")
	}
	if r := []rune(faults); len(r) > 60 {
		faults = string(r[:59]) + "…"
	}
	violations := fmt.Sprintf("%s violations: %d", checker.MutualExclusion.Level, s.Violations)
	if s.Stopping {
		violations = "violated, stopping"
	}
	return fmt.Sprintf("%5.1fs of %v, %s: leases granted: %d, %s; %s", s.Elapsed.Seconds(), s.Limit, s.Stage, s.Granted, violations, faults)
}
