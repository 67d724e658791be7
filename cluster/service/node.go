package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/cluster/service/spec"
)

// node implements cluster.Master and cluster.Mortal.
type node struct {
	cluster *nodes
	number  int // from 0
	name    string
	site    process.Site
	ports   map[string]string // by name: the address on which the node listens
	view    *spec.Node        // what templates see
	ready   spec.Probe
	leads   spec.Probe
	engine  process.Program

	calls sync.Mutex // one call at a time

	mu      sync.Mutex
	life    *life // its latest process; nil: it never ran
	paused  bool
	starts  int
	group   int // of the last start
	removed bool
	died    string // an end that Died has not reported
	heard   int64  // how much of its log Elected has read, in bytes
}

// life is one process of a node.
type life struct {
	exited <-chan struct{}
	ending bool // a call has ended the process, or is about to
}

// prepare renders what the description says of the node, makes the links that it needs, and writes its files.
func (n *node) prepare() error {
	s := n.cluster.spec
	all := make([]*spec.Node, len(n.cluster.all))
	for i, other := range n.cluster.all {
		all[i] = spec.NewNode(other.name, i+1, "", addresses{n, other}, nil)
	}
	n.view = spec.NewNode(n.name, n.number+1, n.site.Folder(), addresses{n, n}, all)
	var args []string
	for _, text := range s.Command {
		arg, err := spec.Render(text, n.view)
		if err != nil {
			return err
		}
		args = append(args, arg)
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value, err := spec.Render(s.Env[name], n.view)
		if err != nil {
			return err
		}
		env = append(env, name+"="+value)
	}
	path, err := find(args[0])
	if err != nil {
		return err
	}
	if n.engine, err = n.cluster.programs.New(path, args[1:], env, n.site); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if err := n.write(name, s.Files[name]); err != nil {
			return err
		}
	}
	if n.ready, err = s.Ready.For(n.view); err != nil {
		return err
	}
	n.leads, err = s.Leader.For(n.view)
	return err
}

// write writes a file in the node's folder.
func (n *node) write(name, text string) error {
	path, err := spec.Render(name, n.view)
	if err == nil {
		text, err = spec.Render(text, n.view)
	}
	if err != nil {
		return err
	}
	if within, err := filepath.Rel(n.site.Folder(), path); err != nil || !filepath.IsLocal(within) {
		return fmt.Errorf("the file %s is not in the node's folder: its name begins with {{.Dir}}", name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (n *node) Name() string { return n.name }

func (n *node) State() cluster.State {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.life == nil || over(n.life.exited):
		return cluster.Down
	case n.paused:
		return cluster.Paused
	}
	return cluster.Up
}

// processGroup returns the process group of the last start; 0: there was none.
func (n *node) processGroup() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.group
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (n *node) Pause(ctx context.Context) error {
	n.calls.Lock()
	defer n.calls.Unlock()
	switch n.State() {
	case cluster.Down:
		return cluster.ErrDown
	case cluster.Paused:
		return nil
	}
	if err := n.engine.Pause(ctx); err != nil {
		return err
	}
	n.setPaused(true)
	return nil
}

func (n *node) Resume(ctx context.Context) error {
	n.calls.Lock()
	defer n.calls.Unlock()
	return n.resume(ctx)
}

func (n *node) resume(ctx context.Context) error {
	switch n.State() {
	case cluster.Down:
		return cluster.ErrDown
	case cluster.Up:
		return nil
	}
	if err := n.engine.Resume(ctx); err != nil {
		return err
	}
	n.setPaused(false)
	return nil
}

func (n *node) setPaused(is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = is
}

func (n *node) Kill(ctx context.Context) error {
	n.calls.Lock()
	defer n.calls.Unlock()
	return n.finish(ctx, n.engine.Kill)
}

func (n *node) Shutdown(ctx context.Context) error {
	n.calls.Lock()
	defer n.calls.Unlock()
	if err := n.resume(ctx); err != nil && !errors.Is(err, cluster.ErrDown) {
		return err
	}
	return n.finish(ctx, n.engine.Terminate)
}

// finish ends the process with a signal, and the listening of its links, and waits for both.
func (n *node) finish(ctx context.Context, signal func(context.Context) error) error {
	if n.State() == cluster.Down {
		return nil
	}
	n.mu.Lock()
	n.life.ending = true
	exited := n.life.exited
	n.mu.Unlock()
	if err := signal(ctx); err != nil {
		return err
	}
	n.hush()
	timer := time.NewTimer(process.EndWithin)
	defer timer.Stop()
	select {
	case <-exited:
		n.setPaused(false)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("it still runs %v after the signal; its log ends:\n%s", process.EndWithin, n.tail())
	}
}

// Start returns when the node accepts connections of clients. Whether it can serve them depends on the others.
func (n *node) Start(ctx context.Context) error {
	n.calls.Lock()
	defer n.calls.Unlock()
	switch n.State() {
	case cluster.Up:
		return nil
	case cluster.Paused:
		return cluster.ErrPaused
	}
	n.mu.Lock()
	removed := n.removed
	n.mu.Unlock()
	if removed {
		return cluster.ErrClosed
	}
	exited, err := n.engine.Launch(ctx)
	if err != nil {
		return err
	}
	l := &life{exited: exited}
	n.mu.Lock()
	n.life, n.paused, n.group = l, false, n.engine.Group()
	n.starts++
	n.mu.Unlock()
	go n.watch(l)
	if err = n.listen(); err == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, n.cluster.spec.StartWithin(), fmt.Errorf("it accepts no connection within %v", n.cluster.spec.StartWithin()))
		defer cancel()
		err = n.until(ctx, func(ctx context.Context) error { return n.knock(ctx) })
	}
	if err != nil {
		return errors.Join(err, n.finish(context.WithoutCancel(ctx), n.engine.Kill))
	}
	return nil
}

// watch records the end of a process that no call has caused. The next process may run by then.
func (n *node) watch(l *life) {
	<-l.exited
	n.mu.Lock()
	if !l.ending {
		n.died = "its process ended, and no fault had ended it"
	}
	listens := !l.ending && l == n.life
	n.mu.Unlock()
	if listens {
		n.hush()
	}
}

func (n *node) Died() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	died := n.died
	n.died = ""
	return died
}

// Elected reads what the log has got since the last call.
func (n *node) Elected() (said string) {
	if n.cluster.elected == nil {
		return ""
	}
	f, err := os.Open(n.site.Log)
	if err != nil {
		return ""
	}
	defer f.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	for lines := bufio.NewReader(io.NewSectionReader(f, n.heard, math.MaxInt64-n.heard)); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return said // the rest of a line comes later
		}
		n.heard += int64(len(line))
		if n.cluster.elected.MatchString(line) {
			said = strings.TrimSpace(line)
		}
	}
}

// awaitReady waits until the node serves as part of a majority.
func (n *node) awaitReady(ctx context.Context) error {
	return n.until(ctx, func(ctx context.Context) error {
		_, err := ask(ctx, n.ready)
		return err
	})
}

// tryWithin limits one try of a probe, tryEvery is the time between two.
const (
	tryWithin = 2 * time.Second
	tryEvery  = 20 * time.Millisecond
)

// until tries f again until it succeeds, while the process lives.
func (n *node) until(ctx context.Context, f func(context.Context) error) error {
	n.mu.Lock()
	exited := n.life.exited
	n.mu.Unlock()
	var last error
	for {
		try, cancel := context.WithTimeout(ctx, tryWithin)
		err := f(try)
		cancel()
		switch {
		case over(exited):
			return fmt.Errorf("its process ended; its log ends:\n%s", n.tail())
		case err == nil:
			return nil
		case ctx.Err() == nil || last == nil:
			last = err
		}
		if !process.Sleep(ctx, tryEvery) {
			return fmt.Errorf("%w (last answer: %v); its log ends:\n%s", context.Cause(ctx), last, n.tail())
		}
	}
}

// knock connects to the port for clients.
func (n *node) knock(ctx context.Context) error {
	c, err := cluster.DialOwn(ctx, n.ports[n.cluster.spec.Clients.Port])
	if err != nil {
		return err
	}
	return c.Close()
}

// tailSize is how much of a log an error shows, in bytes.
const tailSize = 1500

// tail returns the end of the node's log.
func (n *node) tail() string {
	b, err := os.ReadFile(n.site.Log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-tailSize):]))
}

// Inspect says which start of the process accepts connections. What the node stores is not known.
func (n *node) Inspect(ctx context.Context, _ []string) (cluster.Snapshot, error) {
	switch n.State() {
	case cluster.Down:
		return cluster.Snapshot{}, cluster.ErrDown
	case cluster.Paused:
		return cluster.Snapshot{}, cluster.ErrPaused
	}
	if err := n.knock(ctx); err != nil {
		return cluster.Snapshot{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return cluster.Snapshot{RunID: fmt.Sprintf("start %d", n.starts), Time: time.Now()}, nil
}

func (n *node) remove() error {
	n.calls.Lock()
	defer n.calls.Unlock()
	n.mu.Lock()
	n.removed = true
	if n.life != nil {
		n.life.ending = true
	}
	n.mu.Unlock()
	if n.engine == nil {
		return nil
	}
	return n.engine.Remove()
}

// none is the error of the faults that only redis-server has.
func (n *node) none() error {
	return fmt.Errorf("%w: %w", cluster.ErrUnavailable, n.cluster.Shim())
}

func (n *node) SetClock(context.Context, cluster.Clock) error { return n.none() }
func (n *node) SetDisk(context.Context, cluster.Disk) error   { return n.none() }
func (n *node) CutPower(context.Context, cluster.Power) (cluster.Cut, error) {
	return cluster.Cut{}, n.none()
}
func (n *node) FillMemory(context.Context, int64) error          { return n.none() }
func (n *node) DrainMemory(context.Context) error                { return n.none() }
func (n *node) HoldReplication(context.Context, bool) error      { return n.none() }
func (n *node) Failover(context.Context, cluster.Takeover) error { return n.none() }

// addresses gives the addresses of one node as another sees them.
type addresses struct{ seen, of *node }

func (a addresses) Listen(port string) (string, error) {
	at, ok := a.of.ports[port]
	if !ok {
		return "", a.of.cluster.spec.UnknownPort(port)
	}
	return at, nil
}

func (a addresses) Link(port string) (string, error) {
	if _, err := a.Listen(port); err != nil {
		return "", err
	}
	return a.of.cluster.front(a.of.number, port)
}

func (a addresses) To(port string) (string, error) {
	at, err := a.Listen(port)
	if err != nil || a.seen == a.of {
		return at, err
	}
	l, err := a.of.cluster.pair(route{a.seen.number, a.of.number, port}, true)
	if err != nil {
		return "", err
	}
	return l.Addr(), nil
}
