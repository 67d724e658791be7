//go:build real && unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster/docker"
)

var (
	tortureKills  = flag.Int("torture.kills", 11, "TestTorture: how often commands are ended that need no Docker engine")
	tortureDocker = flag.Int("torture.docker", 2, "TestTorture: how often commands are ended that use Docker")
	tortureAside  = flag.Int("torture.aside", 1, "TestTorture: how many stores to do this in, side by side")
	tortureFor    = flag.Duration("torture.for", time.Minute, "TestTorture: when to begin no more of them")
	tortureOnly   = flag.String("torture.only", "", "TestTorture: the name of the only command to end (default: all)")
	tortureSeed   = flag.Uint64("torture.seed", 0, "TestTorture: seed of the moments (0: of the time)")
)

// victim is a command that is ended at a random moment.
type victim struct {
	name  string
	args  []string
	takes time.Duration // roughly, if nobody ends it
}

// run adds what all runs have: a correct lock on masters that forget nothing, so that whatever
// happens to the harness mutual exclusion holds.
func (v victim) run(driver string, more ...string) victim {
	v.args = append([]string{"run", "--driver", driver, "--persistence", "always", "--time-limit", "2s", "--hold", "0s..100ms", "--interval", "300ms", "--nemesis", "random"}, more...)
	return v
}

var victims = []victim{
	victim{name: "run", takes: 6 * time.Second}.run("process", "--faults", "kill,pause,partition"),
	victim{name: "run, faults below Redis", takes: 6 * time.Second}.run("process", "--faults", "powercut,clock,slow-fsync", "--clock", "x1.001"),
	victim{name: "run, replicas", takes: 7 * time.Second}.run("process", "--faults", "failover,shutdown", "--replicas", "1", "--wait", "1"),
	victim{name: "run, clients as processes", takes: 6 * time.Second}.run("process", "--faults", "client-kill,client-pause", "--clients-as", "processes"),
	victim{name: "run, simulated", takes: 2 * time.Second}.run("sim", "--faults", "kill,pause", "--time-limit", "30m"),
	{"audit", []string{"audit", "--lock", "redlock", "--driver", "process", "--only", "paused-masters"}, 12 * time.Second},
	{"claims", []string{"claims", "--only", "30,31", "--driver", "process"}, 8 * time.Second},
	{"search", []string{"explore", "--lock", "redlock-plain-del", "--time-limit", "5s"}, 5 * time.Second},
	{"exhaustive", []string{"search", "--exhaustive", "--time-limit", "4s"}, 4 * time.Second},
	{"audit of a client", []string{"audit", "--client", "redis-py", "--only", "quiet"}, 4 * time.Second},
	{"serve", []string{"serve", "--listen", "127.0.0.1:0"}, 2 * time.Second},
}

var dockerVictims = []victim{
	victim{name: "run, Docker", takes: 8 * time.Second}.run("docker", "--faults", "kill,pause,partition"),
	victim{name: "run, Docker, faults below Redis", takes: 10 * time.Second}.run("docker", "--faults", "powercut,clock,slow-fsync", "--clock", "x1.001"),
}

// endings are the ways in which a harness is ended. All but SIGKILL ask it to end in order.
var endings = []struct {
	name string
	end  func(pid int) error
}{
	{"SIGKILL", func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }},
	{"SIGKILL of its group", func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }},
	{"SIGTERM", func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }},
	{"SIGINT", func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }},
	{"SIGINT twice", func(pid int) error {
		return errors.Join(syscall.Kill(pid, syscall.SIGINT), syscall.Kill(pid, syscall.SIGINT))
	}},
	{"SIGHUP", func(pid int) error { return syscall.Kill(pid, syscall.SIGHUP) }},
}

// endsWithin bounds how long a harness that was asked to end may take: until masters that are down
// have been started again, and the history is judged.
const endsWithin = time.Minute

// torture is a store and the folders of one user, and who uses them.
type torture struct {
	t      *testing.T
	dir    string
	env    []string
	within time.Duration // a command must end
}

// TestTorture ends Lockpick at random moments in every way, beside a campaign in the same store that
// must not notice. Whatever was ended leaves nothing after the next start: no process, container or
// temporary file. What it had recorded can be judged, and convicts no correct lock.
func TestTorture(t *testing.T) {
	// A command ignores SIGHUP if its parent does, as under nohup. A signal that the parent catches has its default
	// effect in children.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	seed := *tortureSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-torture.seed=%d", seed)
	have := driversHere(t)
	for _, part := range []struct {
		driver  string
		victims []victim
		times   int
		share   time.Duration // tenths of the time
	}{{scenario.Process, victims, *tortureKills, 7}, {scenario.Docker, dockerVictims, *tortureDocker, 3}} {
		t.Run(part.driver, func(t *testing.T) {
			if !slices.Contains(have, part.driver) {
				t.Skipf("no driver %s on this machine", part.driver)
			}
			if *tortureOnly != "" {
				part.victims = slices.DeleteFunc(slices.Clone(part.victims), func(v victim) bool { return v.name != *tortureOnly })
			}
			if len(part.victims) == 0 {
				t.Skipf("no command %q", *tortureOnly)
			}
			until := time.Now().Add(*tortureFor * part.share / 10)
			var ended tally
			t.Cleanup(func() { ended.print(t) })
			for aside := range *tortureAside {
				random := rand.New(rand.NewPCG(seed, uint64(aside)))
				t.Run(strconv.Itoa(aside), func(t *testing.T) {
					t.Parallel()
					to := newTorture(t)
					stop := to.beside(part.driver)
					defer stop()
					for i := aside; i < part.times && time.Now().Before(until); i += *tortureAside {
						v, e := part.victims[i%len(part.victims)], endings[random.IntN(len(endings))]
						to.round(i, v, e.name, e.end, time.Duration(random.Int64N(int64(v.takes))))
						ended.add(v.name, e.name)
					}
				})
			}
		})
	}
}

// tally counts how often each command was ended in each way.
type tally struct {
	mu    sync.Mutex
	times map[string]map[string]int
}

func (c *tally) add(what, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times == nil {
		c.times = map[string]map[string]int{}
	}
	if c.times[what] == nil {
		c.times[what] = map[string]int{}
	}
	c.times[what][how]++
}

func (c *tally) print(t *testing.T) {
	total := 0
	for _, what := range slices.Sorted(maps.Keys(c.times)) {
		var ways []string
		of := 0
		for _, how := range slices.Sorted(maps.Keys(c.times[what])) {
			n := c.times[what][how]
			of += n
			ways = append(ways, fmt.Sprintf("%s %d", how, n))
		}
		t.Logf("%s: %d (%s)", what, of, strings.Join(ways, ", "))
		total += of
	}
	t.Logf("%d were ended, with %s", total, map[bool]string{false: "no exception", true: "exceptions"}[t.Failed()])
}

func newTorture(t *testing.T) *torture {
	to := &torture{t: t, dir: t.TempDir(), within: endsWithin}
	for _, name := range []string{"home", "cache", "tmp", "store"} {
		if err := os.Mkdir(filepath.Join(to.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	to.env = append(os.Environ(), "HOME="+filepath.Join(to.dir, "home"), "XDG_CACHE_HOME="+filepath.Join(to.dir, "cache"), "TMPDIR="+filepath.Join(to.dir, "tmp"))
	return to
}

// mark is the variable that marks what a command has started. Tests beside use the same names.
func (to *torture) mark(name string) string { return "LOCKPICK_TORTURE=" + to.dir + " " + name }

// command is Lockpick with arguments, marked in its environment and that of all it starts.
func (to *torture) command(mark string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = to.dir, append(slices.Clone(to.env), to.mark(mark)), &out, &out
	cmd.WaitDelay = endsWithin // for those that have the command's standard output and outlive it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, &out
}

// beside runs campaigns, one after another, that nobody ends. None of their masters may die.
func (to *torture) beside(driver string) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			default:
			}
			name := fmt.Sprintf("beside-%d", n)
			cmd, out := to.command(name, "run", "--name", name, "--driver", driver, "--faults", "none", "--time-limit", "8s", "--clients", "2")
			if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exitUndecided {
				to.t.Errorf("the campaign beside: %v\n%s", err, out)
			}
			if strings.Contains(out.String(), " died") || strings.Contains(strings.ToLower(out.String()), "violated") {
				to.t.Errorf("the campaign beside was disturbed:\n%s", out)
			}
		}
	}()
	return func() { close(over); <-done }
}

// round ends one command after a while, and looks at what is left. It returns the exit code
// and the output.
func (to *torture) round(i int, v victim, how string, end func(int) error, after time.Duration) (code int, said string) {
	name := fmt.Sprintf("torture-%d", i)
	args := v.args
	if args[0] == "run" {
		args = append(slices.Clone(args), "--name", name)
	}
	cmd, out := to.command(name, args...)
	if err := cmd.Start(); err != nil {
		to.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	about := func(format string, more ...any) {
		to.t.Helper()
		to.t.Errorf("%s, %s after %v: %s\nlockpick %s\n%s", v.name, how, after, fmt.Sprintf(format, more...), strings.Join(args, " "), out)
	}
	select {
	case <-exited:
	case <-time.After(after):
		if err := end(cmd.Process.Pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			about("%v", err)
		}
	}
	select {
	case <-exited:
	case <-time.After(to.within):
		about("it has not ended within %v", to.within)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	}
	if code = cmd.ProcessState.ExitCode(); code == exitHarness || code == exitUsage || strings.Contains(out.String(), "goroutine ") {
		about("exit code %d", code)
	}
	clean, cleaned := to.command("clean", "doctor", "--clean") // what each start does
	if err := clean.Run(); err != nil {
		about("doctor --clean: %v\n%s", err, cleaned)
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // between two looks
		left := to.left(name, cmd.Process.Pid)
		if len(left) == 0 {
			break
		}
		if time.Since(began) > 10*time.Second {
			about("left behind: %s", strings.Join(left, ", "))
			break
		}
	}
	to.judge(name, about)
	return code, out.String()
}

// left lists processes that a command started, its containers, and temporary files.
func (to *torture) left(mark string, pid int) (all []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range processes {
		if env, err := os.ReadFile(p); err == nil && slices.Contains(strings.Split(string(env), "\x00"), to.mark(mark)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
			all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	_ = filepath.WalkDir(to.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		inTemp := strings.HasPrefix(path, filepath.Join(to.dir, "tmp")+"/")
		if inTemp || strings.HasSuffix(path, ".tmp") || strings.HasPrefix(d.Name(), ".new-") || strings.HasPrefix(d.Name(), "probe-") {
			all = append(all, path)
		}
		return nil
	})
	roots, _ := filepath.Glob(filepath.Join(to.dir, "cache", "lockpick", "run", "*-*"))
	for _, root := range roots {
		if pid, err := strconv.Atoi(strings.Split(filepath.Base(root), "-")[1]); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			all = append(all, root)
		}
	}
	containers, err := docker.Leftovers(to.t.Context())
	if err != nil {
		return append(all, err.Error())
	}
	return append(all, leftBy(pid, containers)...)
}

// judge checks what a run had recorded, if it had come so far.
func (to *torture) judge(name string, about func(string, ...any)) {
	histories, _ := filepath.Glob(filepath.Join(to.dir, "store", "*"+name+"*", judge.HistoryFile+"*"))
	for _, h := range histories {
		check, out := to.command("check", "check", filepath.Dir(h), "--property", "L2", "--json")
		var judged bytes.Buffer
		check.Stdout = &judged
		_ = check.Run()
		code := check.ProcessState.ExitCode()
		if code == exitUsage && strings.Contains(out.String(), "empty") { // it was ended before the first line
			continue
		}
		var r struct{ Verdict string }
		if err := json.Unmarshal(judged.Bytes(), &r); err != nil || code != exitHolds && code != exitUndecided {
			about("check: exit code %d, %s%s", code, out, judged.String())
		}
	}
	list, out := to.command("list", "list", "runs")
	if err := list.Run(); err != nil {
		about("list runs: %v\n%s", err, out)
	}
}
