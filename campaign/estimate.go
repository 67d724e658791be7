package campaign

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/workload"
)

// Estimate predicts the disk space and the memory that a run takes.
type Estimate struct {
	Lines  int64 // number of lines of the history
	Disk   int64 // bytes of the history before it is compressed at the end
	Memory int64 // bytes, while the history is judged and the report is written
}

// The memory that lines take, measured with a day of virtual time with 50 clients and all faults, and with an
// hour on processes.
const (
	judgedLine   = 150 // bytes per line if the report shows an excerpt of the history
	reportedLine = 950 // bytes per line if the report shows the whole history
	ownMemory    = 150 << 20
)

// estimatedFrom is the time limit from which a run is estimated. probed is the number of TTLs, or of
// intervals between faults if these are longer, that the estimate simulates: the first few are not typical.
const (
	estimatedFrom = 10 * time.Minute
	probed        = 10
)

// EstimateOf estimates what a run takes. It simulates the beginning of the run, with Lockpick's own lock if
// the run's lock cannot be simulated. The estimate is about right for drivers in real time, too.
func EstimateOf(ctx context.Context, s scenario.Scenario) (Estimate, error) {
	limit := s.TimeLimit
	s.At = nil
	s.Driver, s.ClientsAs, s.Client, s.StopOnViolation, s.StopAfter, s.TimeLimit = scenario.Sim, scenario.Defaults().ClientsAs, nil, false, 0, min(limit, max(time.Minute, probed*s.TTL, probed*s.Interval))
	if !slices.Contains(workload.LockNames(), s.Lock) || s.Connects() {
		s.Lock = scenario.Defaults().Lock
	}
	if err := s.Check(); err != nil {
		return Estimate{}, err
	}
	var written size
	lines, on := 0, Simulation{}.Driver()
	err := on.Lend(ctx, &s, s.Config(), func(masters cluster.Cluster) error {
		c := newCampaign(ctx, s, Options{}, on, masters)
		err := c.record("", time.Time{}, func(h history.Header, now func() time.Duration) (*history.Recorder, error) {
			return history.NewRecorder(&written, h, now)
		})
		if err == nil {
			lines = c.recorder.Len()
		}
		return err
	})
	if err != nil {
		return Estimate{}, err
	}
	more := float64(limit) / float64(s.TimeLimit)
	e := Estimate{Lines: int64(more * float64(lines)), Disk: int64(more * float64(written))}
	e.Memory = ownMemory + e.Lines*reportedLine
	if e.Lines > judge.WholeLines {
		e.Memory = ownMemory + max(e.Lines*judgedLine, judge.ExcerptLines*reportedLine)
	}
	return e, nil
}

// size is a writer that counts the bytes written to it.
type size int64

func (s *size) Write(b []byte) (int, error) {
	*s += size(len(b))
	return len(b), nil
}

// announceEstimate reports before a long run what it will take, and warns if the machine has less.
func announceEstimate(ctx context.Context, s scenario.Scenario, store string, progress func(string, ...any)) {
	if s.TimeLimit < estimatedFrom {
		return
	}
	e, err := EstimateOf(ctx, s)
	if err != nil {
		return // the run itself will report the error
	}
	disk, knownDisk := freeDisk(store)
	memory, knownMemory := freeMemory()
	for _, line := range e.lines(disk, knownDisk, memory, knownMemory) {
		progress("%s", line)
	}
}

// lines describes in sentences what a run will take, and what the machine lacks.
func (e Estimate) lines(disk int64, knownDisk bool, memory int64, knownMemory bool) []string {
	says := []string{fmt.Sprintf("this will take about %s of disk and %s of memory: %.1f million lines, which are judged at the end", bytesText(e.Disk), bytesText(e.Memory), float64(e.Lines)/1e6)}
	if knownDisk && e.Disk > disk {
		says = append(says, fmt.Sprintf("the store's disk has only %s free: take a shorter --time-limit, fewer clients, or another --store", bytesText(disk)))
	}
	if knownMemory && e.Memory > memory {
		says = append(says, fmt.Sprintf("only %s of memory are free: take a shorter --time-limit or fewer clients, or judge the history elsewhere (lockpick check)", bytesText(memory)))
	}
	return says
}

// bytesText renders a number of bytes in MB or GB.
func bytesText(n int64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%d MB", (n+999_999)/1e6)
}
