package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"lockpick/cluster"
)

// driverName is the name of the driver, and of the folders of its masters.
const driverName = "process"

// Start starts masters as redis-server processes of this host. On Linux they end with the
// harness, however it ends; elsewhere Sweep ends those that a dead harness has left.
func Start(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	cfg, flags, err := CompleteConfig(cfg)
	if err != nil {
		return nil, err
	}
	path, err := ServerPath(cfg.Server)
	if err != nil {
		return nil, err
	}
	shim, why := ShimObject(ctx)
	if !cfg.KeepLeftovers {
		if _, err := Sweep(ctx); err != nil {
			cfg.Progress("leftovers of dead harnesses could not be removed: %v", err)
		}
	}
	s := newSpawner()
	return Open(ctx, cfg, driverName, processes(s, path, flags), shim, why, s.stop)
}

func processes(s *spawner, path string, flags []string) Build {
	return func(at Site) Engine {
		args := append([]string{
			filepath.Join(at.Home, Settings),
			"--bind", "127.0.0.1", "--port", strconv.Itoa(at.Port),
			"--protected-mode", "no", "--daemonize", "no", "--dir", at.data(),
		}, flags...)
		return &process{spawner: s, path: path, args: args, Site: at}
	}
}

// defaultServer is the program of the masters unless another one is named.
const defaultServer = "redis-server"

// ServerPath finds the program of the masters; an empty name stands for redis-server.
func ServerPath(program string) (string, error) {
	name := cmp.Or(program, defaultServer)
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	switch {
	case err != nil && program == "":
		return "", fmt.Errorf("find redis-server: %w; install it: apt-get install redis-server", err)
	case err != nil:
		return "", fmt.Errorf("find the server %s: %w; lockpick doctor lists what is installed", name, err)
	}
	return path, nil
}

// process is the engine of a master that is a process.
type process struct {
	Site
	spawner *spawner
	path    string
	args    []string
	env     []string // beside that of the harness
	pid     int
	exited  chan struct{}
}

func (p *process) Launch(context.Context) (<-chan struct{}, error) {
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir = p.data()
	cmd.Env = append(os.Environ(), p.env...)
	if p.Shim != "" {
		cmd.Env = append(cmd.Env, Environment(p.Shim, p.shimDir(), p.data(), os.Getenv("LD_PRELOAD"))...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = serverAttr()
	if err := p.spawner.start(cmd); err != nil {
		return nil, fmt.Errorf("run %s: %w", p.path, err)
	}
	p.pid = cmd.Process.Pid
	exited := make(chan struct{})
	p.exited = exited
	go func() {
		awaitGroup(cmd)
		close(exited)
	}()
	// Sweep needs this on systems that do not end the server together with the harness.
	note := []byte(identify(p.pid).String() + "\n")
	if err := os.WriteFile(p.Home+pidSuffix, note, 0o644); err != nil {
		p.signal(syscall.SIGKILL, true)
		<-exited
		return nil, fmt.Errorf("note its process id: %w", err)
	}
	return exited, nil
}

// pidSuffix is the suffix of the file with the identity of a server; its name begins with that
// of the server's directory.
const pidSuffix = ".pid"

// signal signals only the server, or the server and its children (such as one that writes a
// snapshot). After the process was waited for, its id may belong to another process.
func (p *process) signal(s syscall.Signal, all bool) error {
	if p.pid == 0 || ended(p.exited) {
		return nil
	}
	pid := p.pid
	if all {
		pid = -pid
	}
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send signal %v to process %d: %w", s, p.pid, err)
	}
	return nil
}

func (p *process) Pause(ctx context.Context) error {
	if err := p.signal(syscall.SIGSTOP, true); err != nil {
		return err
	}
	for { // a thread that runs on another processor stops a little later
		switch stopped, err := allStopped(p.pid); {
		case ended(p.exited):
			return cluster.ErrDown
		case err != nil:
			return err
		case stopped:
			return nil
		}
		if !Sleep(ctx, 100*time.Microsecond) {
			p.signal(syscall.SIGCONT, true)
			return context.Cause(ctx)
		}
	}
}

func (p *process) Resume(context.Context) error    { return p.signal(syscall.SIGCONT, true) }
func (p *process) Kill(context.Context) error      { return p.signal(syscall.SIGKILL, true) }
func (p *process) Terminate(context.Context) error { return p.signal(syscall.SIGTERM, false) }
func (p *process) Complaint() string               { return "" } // all output goes to the log

// Owns compares process groups, because redis-server may be a wrapper of the real server.
func (p *process) Owns(s ServerInfo) bool {
	pgid, err := syscall.Getpgid(s.Pid)
	return err == nil && pgid == p.pid
}

func (p *process) Remove() error {
	if p.pid == 0 {
		return nil
	}
	if err := p.signal(syscall.SIGKILL, true); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(EndWithin):
		return fmt.Errorf("process %d still runs %v after SIGKILL", p.pid, EndWithin)
	}
}

// spawner starts processes from one thread that lives as long as they do. If a process is to
// end with its parent, Linux ends it when the parent's thread ends, and Go may end threads at
// any time.
type spawner struct {
	work chan func()
	once sync.Once
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	err := make(chan error)
	s.work <- func() { err <- cmd.Start() }
	return <-err
}

func (s *spawner) stop() {
	s.once.Do(func() { close(s.work) })
	<-s.done
}
