//go:build real

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// arrayTools skips the test if this machine lacks a program.
func arrayTools(t *testing.T, hint string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed: on Debian, apt-get install %s", p, hint)
		}
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "examples", "cluster", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheExampleForGNUParallel runs the script as it is.
func TestTheExampleForGNUParallel(t *testing.T) {
	t.Parallel()
	arrayTools(t, "parallel", "parallel")
	cmd := exec.CommandContext(t.Context(), example(t, "parallel.sh"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "LOCKPICK="+binary, "SCHEDULES=60", "SHARDS=4")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if !strings.Contains(string(out), "60 schedules") || !strings.Contains(string(out), "HOLDS") {
		t.Errorf("%v\n%s\n%s", err, out, stderr.String())
	}
}

// TestTheExampleForSlurm runs the script as it is under a Slurm of one node, has Slurm kill and
// requeue one of its jobs while it runs, and reads what the jobs wrote.
func TestTheExampleForSlurm(t *testing.T) {
	t.Parallel()
	arrayTools(t, "slurm-wlm", "sbatch", "scontrol", "squeue", "slurmctld", "slurmd")
	if os.Getuid() != 0 {
		t.Skip("slurmd must run as root")
	}
	dir := t.TempDir()
	slurm := startSlurm(t, dir)
	id := strings.TrimSpace(slurm("sbatch", "--parsable", "--array=0-3", "--export=ALL,LOCKPICK="+binary+",SCHEDULES=1200", example(t, "slurm.sh")))
	state := func(job string) string { return strings.TrimSpace(slurm("squeue", "-h", "-r", "-o", "%T", "-j", job)) }
	first := id + "_0"
	eventually(t, "the first job runs", func() bool { return state(first) == "RUNNING" })
	slurm("scontrol", "requeue", first)
	eventually(t, "the first job waits again", func() bool { return state(first) == "PENDING" })
	// Its 300 schedules are 17 units of up to 18, after the line of the job.
	if b, err := os.ReadFile(filepath.Join(dir, "part-0.json")); err == nil && bytes.Count(b, []byte("\n")) > 17 {
		t.Error("the job was requeued after it had ended: the test shows nothing")
	}
	slurm("scontrol", "update", "jobid="+first, "StartTime=now")
	eventually(t, "all jobs have ended", func() bool { return slurm("squeue", "-h", "-j", id) == "" })
	stdout, stderr, code := lockpick(t, dir, "search", "part-0.json", "part-1.json", "part-2.json", "part-3.json", "--json")
	var found struct {
		Schedules int
		Missing   []string
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || found.Schedules != 1200 || len(found.Missing) > 0 || code != exitHolds {
		logs, _ := filepath.Glob(filepath.Join(dir, "lockpick-*.log"))
		t.Errorf("exit %d: %+v, %v\n%s\nlogs: %v", code, found, err, stderr, logs)
	}
}

// eventually waits for a condition, for two minutes at most.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("this did not come about: %s", what)
		}
	}
}

// startSlurm starts a Slurm of one node in a folder, and returns what runs its commands there.
func startSlurm(t *testing.T, dir string) func(program string, args ...string) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	for _, sub := range []string{"controller", "node"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ports := freePorts(t, 2)
	config := filepath.Join(dir, "slurm.conf")
	// Without authentication: this Slurm listens on loopback alone and ends with the test.
	text := fmt.Sprintf(`ClusterName=lockpick
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CryptoType=crypto/none
StateSaveLocation=%[2]s/controller
SlurmdSpoolDir=%[2]s/node
SlurmctldPidFile=%[2]s/controller.pid
SlurmdPidFile=%[2]s/node.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP
`, host, dir, ports[0], ports[1])
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "SLURM_CONF="+config)
	for _, daemon := range []string{"slurmctld", "slurmd"} {
		cmd := exec.Command(daemon, "-D")
		log, err := os.Create(filepath.Join(dir, daemon+".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			hung := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			hung.Stop()
			_ = log.Close()
		})
	}
	command := func(program string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	eventually(t, "Slurm's node is idle", func() bool {
		out, err := command("sinfo", "-h", "-o", "%T")
		return err == nil && strings.TrimSpace(out) == "idle"
	})
	return func(program string, args ...string) string {
		t.Helper()
		out, err := command(program, args...)
		if err != nil && program != "squeue" { // which knows no job that has ended long ago
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		if err != nil {
			return ""
		}
		return out
	}
}

// freePorts are ports of loopback that nobody listened on a moment ago.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
