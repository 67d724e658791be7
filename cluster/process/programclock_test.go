package process

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/cluster"
)

// skewed makes clocks for a program, or skips the test.
func skewed(t *testing.T) *ProgramClocks {
	t.Helper()
	c, err := NewProgramClocks(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// program is one that waits, or says what its clocks show, whenever it is told to.
type program struct {
	t      *testing.T
	clocks *ProgramClocks
	in     io.Writer
	out    *bufio.Scanner
	group  int

	rate    float64 // of the last setting
	setting int64   // ns that it took
}

// programs are the same program in several languages. It says "ready", and then for each line
//
//	clock      what its monotonic clock and its wall clock show, in seconds
//	HOW S      "ok" after it has waited S seconds in one of the ways in waits
//
// The C library's functions that the languages use differ: docs/scenarios.md lists them.
var programs = []struct {
	name  string
	args  []string // before the file
	file  string
	waits string
}{
	{"Python", []string{"python3"}, "clocks.py", "sleep select poll epoll socket lock condition event queue future join"},
	{"Debian's Python", []string{"/usr/bin/python3"}, "clocks.py", "sleep select poll epoll socket lock condition event queue future join"},
	{"PHP", []string{"php"}, "clocks.php", "sleep usleep nanosleep until select"},
	{"Ruby", []string{"ruby"}, "clocks.rb", "sleep select condition queue timeout"},
	{"Perl", []string{"perl"}, "clocks.pl", "sleep hires select"},
	{"Node", []string{"node"}, "clocks.js", "timer interval wait"},
	{"C", nil, "clocks.c", "nanosleep absolute wall usleep sleep select pselect poll ppoll epoll epoll2 condition condition-monotonic condition-clock semaphore semaphore-clock mutex rwlock timerfd timerfd-absolute futex futex-absolute"},
}

// begin starts a program with the clocks, or skips the test.
func begin(t *testing.T, c *ProgramClocks, args []string, file string) *program {
	t.Helper()
	path := filepath.Join("testdata", file)
	if args == nil {
		cc, err := Compiler()
		if err != nil {
			t.Skip(err)
		}
		binary := filepath.Join(t.TempDir(), "clocks")
		if out, err := exec.Command(cc[0], append(cc[1:], "-O2", "-D_FORTIFY_SOURCE=2", "-pthread", "-o", binary, path)...).CombinedOutput(); err != nil {
			t.Skipf("a C program cannot be built here: %s", out)
		}
		args, path = []string{binary}, ""
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], path)...)
	cmd.Stderr = os.Stderr
	in, out := startWithClocks(t, cmd, c)
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p := &program{t: t, clocks: c, rate: 1, in: in, out: bufio.NewScanner(out), group: cmd.Process.Pid}
	if got := p.says(); got != "ready" {
		t.Fatalf("it said %q", got)
	}
	return p
}

// startWithClocks starts a program in a process group of its own that goes by the clocks.
func startWithClocks(t *testing.T, cmd *exec.Cmd, c *ProgramClocks, env ...string) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	cmd.Env = slices.Concat(os.Environ(), env, c.Env())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// says returns the next line of the program.
func (p *program) says() string {
	p.t.Helper()
	hangs := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-p.group, syscall.SIGKILL) })
	defer hangs.Stop()
	if !p.out.Scan() {
		p.t.Fatal("it ended, or hung for a minute")
	}
	return p.out.Text()
}

// does tells the program to do something, and returns what it said and the true times before and
// after.
func (p *program) does(what string) (said string, from, to int64) {
	p.t.Helper()
	from = p.clock()
	fmt.Fprintln(p.in, what)
	said = p.says()
	return said, from, p.clock()
}

// clock reads the true monotonic clock.
func (p *program) clock() int64 {
	p.t.Helper()
	at, err := readClock(skewedClocks[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return at
}

// reads asks what the program's clocks show, and compares it with what they should show.
func (p *program) reads(offset time.Duration) {
	p.t.Helper()
	before := p.clock()
	wallFrom := time.Now().UnixNano()
	said, from, to := p.does("clock")
	wallTo := time.Now().UnixNano()
	after := p.clock()
	var mono, wall float64
	if _, err := fmt.Sscan(said, &mono, &wall); err != nil {
		p.t.Fatalf("it said %q: %v", said, err)
	}
	const rounding = 2e-3
	if low, high := float64(p.clocks.Shown(from))/1e9-rounding, float64(p.clocks.Shown(to))/1e9+rounding; mono < low || mono > high {
		p.t.Errorf("its monotonic clock shows %f, want %f to %f", mono, low, high)
	}
	// The true wall clock was read between two readings of the other. A setting reads the bases of its clocks one after the
	// other, too.
	gain := func(at int64) int64 { return p.clocks.Shown(at) - at }
	bases := int64(math.Abs(p.rate-1) * float64(p.setting))
	low := wallFrom + min(gain(before), gain(from)) - bases + int64(offset)
	high := wallTo + max(gain(to), gain(after)) + bases + int64(offset)
	if l, h := float64(low)/1e9-rounding, float64(high)/1e9+rounding; wall < l || wall > h {
		p.t.Errorf("its wall clock shows %f, want %f to %f", wall, l, h)
	}
}

// set skews the clocks.
func (p *program) set(to cluster.Clock) {
	p.t.Helper()
	began := p.clock()
	if err := p.clocks.Set(to); err != nil {
		p.t.Fatal(err)
	}
	p.rate, p.setting = to.EffectiveRate(), p.clock()-began
}

// waits makes the program wait by a skewed clock, and returns how long that took in truth.
func (p *program) waits(how string, seconds float64) time.Duration {
	p.t.Helper()
	said, from, to := p.does(how + " " + strconv.FormatFloat(seconds, 'g', -1, 64))
	if said != "ok" {
		p.t.Errorf("%s: it said %q", how, said)
	}
	// What it asked for has passed on its own clock. Some languages count in whole milliseconds.
	if passed := time.Duration(p.clocks.Shown(to) - p.clocks.Shown(from)); passed.Seconds() < seconds-2e-3 {
		p.t.Errorf("%s: it waited %v by its own clock, and wanted %vs", how, passed, seconds)
	}
	return time.Duration(to - from)
}

// TestProgramsGoByTheirClocks: what a program reads is what the harness has set, at any time, and all of its waits go by
// it: one of many seconds ends in a fraction of that if its clock is fast, and none ends early or hangs if it is slow, was
// set back, or is right again.
func TestProgramsGoByTheirClocks(t *testing.T) {
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, skewed(t), c.args, c.file)
			if err := p.clocks.Skew(p.group); err != nil {
				t.Fatal(err)
			}
			p.reads(0)
			ways := strings.Fields(c.waits)
			for _, how := range ways {
				p.waits(how, 0.002)
			}
			p.set(cluster.Clock{Rate: 1000})
			p.reads(0)
			for _, how := range ways {
				if took := p.waits(how, 200); took > 100*time.Second {
					t.Errorf("%s: it waited %v at 1000 times the speed", how, took)
				}
			}
			// It has gained minutes. A deadline by that clock is one that the kernel's has yet to come to.
			p.set(cluster.Clock{Offset: -time.Hour})
			p.reads(-time.Hour)
			for _, how := range ways {
				p.waits(how, 0.01)
			}
			p.set(cluster.Clock{Rate: 0.1, Offset: time.Hour})
			p.reads(time.Hour)
			for _, how := range ways {
				p.waits(how, 0.01)
			}
			p.set(cluster.Clock{})
			p.reads(0)
			for _, how := range ways {
				p.waits(how, 0.01)
			}
		})
	}
}

// TestAWaitGoesByAClockThatIsSetMeanwhile: a program that sleeps notices a fast clock, and one that is slow no more.
func TestAWaitGoesByAClockThatIsSetMeanwhile(t *testing.T) {
	p := begin(t, skewed(t), []string{"perl"}, "clocks.pl")
	for _, c := range []struct {
		before, after float64
		sleep         string
	}{{1, 1000, "hires 300"}, {0.001, 1, "hires 1"}} {
		p.set(cluster.Clock{Rate: c.before})
		done := make(chan string)
		go func() {
			said, _, _ := p.does(c.sleep)
			done <- said
		}()
		for began := time.Now(); time.Since(began) < 100*time.Millisecond; { // it may be asleep by then, and is soon
			time.Sleep(time.Millisecond)
		}
		p.set(cluster.Clock{Rate: c.after})
		if said := <-done; said != "ok" {
			t.Errorf("it said %q", said)
		}
	}
}

// TestAClockIsReadWhileItIsSet: what a thread reads while the clocks are set takes nothing from what they show later.
func TestAClockIsReadWhileItIsSet(t *testing.T) {
	p := begin(t, skewed(t), nil, "clocks.c")
	if said, _, _ := p.does("busy"); said != "ok" {
		t.Fatalf("it said %q", said)
	}
	for range 200 {
		p.set(cluster.Clock{Rate: 1000})
		p.reads(0)
		p.set(cluster.Clock{})
		p.reads(0)
	}
}

// TestProgramsWhoseClocksCannotBeSkewed says which, and why.
func TestProgramsWhoseClocksCannotBeSkewed(t *testing.T) {
	c := skewed(t)
	static := filepath.Join(t.TempDir(), "static")
	cc, err := Compiler()
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command(cc[0], append(cc[1:], "-static", "-o", static, "testdata/clocks.c")...).CombinedOutput(); err != nil {
		t.Skipf("a static program cannot be built here: %s", out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		args []string
		want string
	}{
		"static":          {[]string{static}, "linked statically"},
		"static, a child": {[]string{"sh", "-c", static + "; true"}, "linked statically"},
		"Go":              {[]string{self, "-test.run=TestWaitsForItsEnd"}, "Go program"},
		"cleared":         {[]string{"env", "-i", "/bin/sh", "-c", "echo ready; read l"}, "cleared its environment"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), x.args[0], x.args[1:]...)
			in, out := startWithClocks(t, cmd, c, waitEnv+"=yes")
			defer func() { in.Close(); _ = cmd.Wait() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("it said %q: %v", line, err)
			}
			if err := c.Skew(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("its clocks can be skewed: %v, want %q", err, x.want)
			}
		})
	}
}

// waitEnv makes this program one that waits for the end of its stdin.
const waitEnv = "LOCKPICK_TEST_WAITS"

func TestWaitsForItsEnd(t *testing.T) {
	if os.Getenv(waitEnv) == "" {
		t.Skip("it is a program that other tests start")
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestShownAndTrue: what clocks show never goes back, counts at their rate, and True is its inverse.
func TestShownAndTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &ProgramClocks{settings: []setting{{rate: 1}}}
		at := int64(0)
		for range rapid.IntRange(0, 5).Draw(t, "settings") {
			at += rapid.Int64Range(0, 1e12).Draw(t, "later")
			last := c.settings[len(c.settings)-1]
			c.settings = append(c.settings, setting{at, last.shown(at) - at, rapid.SampledFrom([]float64{0.001, 0.5, 1, 2, 1000}).Draw(t, "rate")})
		}
		a := rapid.Int64Range(0, 5e12).Draw(t, "a")
		b := a + rapid.Int64Range(0, 1e12).Draw(t, "more")
		shown := c.Shown(a)
		if c.Shown(b) < shown-1 {
			t.Fatalf("it went back from %d to %d", shown, c.Shown(b))
		}
		if back := c.True(shown); back < a-1001 || back > a+1001 { // at the rate 0.001 a nanosecond lasts 1000
			t.Fatalf("it showed %d at %d, which is at %d", shown, a, back)
		}
	})
}
