package remote

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a running client process and its connections with the harness: its standard streams,
// and the file descriptors 3 (requests) and 4 (messages) for programs that print to stdout.
type child struct {
	cmd      *exec.Cmd
	lines    chan incoming // its messages; closed after the last one
	stderr   tail
	log      io.WriteCloser // receives stderr; may be nil
	mu       sync.Mutex
	requests []io.WriteCloser // receive requests: stdin, and descriptor 3 until its first message
	messages *os.File         // fd 4
	group    int              // its process group; 0: it must not be signalled any more
	mark     string           // entry of its environment, which the processes that it starts inherit
}

// markEnv is the variable in the environment of a client's process whose value no other process has.
const markEnv = "LOCKPICK_PROCESS"

// incoming is a line of a process, or the reason why no more lines will come.
type incoming struct {
	line []byte
	from int // the file descriptor: 1 or 4
	err  error
}

// maxMessage is the greatest length of a line, in bytes.
const maxMessage = 1 << 20

// spawn runs a command. Its stderr also goes to log, which is closed at its end; log may be
// nil.
func spawn(command, env []string, log io.WriteCloser) (*child, error) {
	p := &child{cmd: exec.Command(command[0], command[1:]...), lines: make(chan incoming), log: log}
	p.mark = markEnv + "=" + rand.Text()
	p.cmd.Env = append(append(os.Environ(), env...), p.mark)
	// The process runs in a group of its own, so that Ctrl-C in a terminal does not reach it,
	// and so that its children are stopped and killed together with it. If the harness dies,
	// the process ends, too: its stdin ends, and if it is stopped, the system wakes it with
	// SIGHUP, because its group is orphaned.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = &p.stderr
	if log != nil {
		p.cmd.Stderr = io.MultiWriter(&p.stderr, &capped{w: log, left: maxLog})
	}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	requestsIn, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	messages, messagesOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, requestsIn.Close(), requests.Close())
	}
	p.cmd.ExtraFiles = []*os.File{requestsIn, messagesOut}
	p.cmd.WaitDelay = exitWithin
	err = p.cmd.Start()
	requestsIn.Close()
	messagesOut.Close()
	if err != nil {
		requests.Close()
		messages.Close()
		return nil, fmt.Errorf("run %s: %w", command[0], err)
	}
	p.group = p.cmd.Process.Pid
	p.requests, p.messages = []io.WriteCloser{stdin, requests}, messages
	go p.run(stdout)
	return p, nil
}

// run reads the messages of the process until it has ended.
func (p *child) run(stdout io.Reader) {
	over := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout, 1, over) })
	readers.Go(func() { p.read(p.messages, 4, over) })
	read := make(chan struct{})
	go func() { readers.Wait(); close(read) }()

	ended := make(chan struct{})
	go func() { awaitExit(p.cmd.Process.Pid); close(ended) }()
	select {
	case <-ended:
	case <-read: // it has closed its streams and can do nothing more, so it must end
		select {
		case <-ended:
		case <-time.After(exitWithin):
			p.signal(syscall.SIGKILL)
			<-ended
		}
	}
	p.signal(syscall.SIGKILL) // kill the rest of its group, before another process can get its id
	endMarked(p.mark)         // and what left the group
	p.mu.Lock()
	p.group = 0
	p.mu.Unlock()
	select {
	case <-read:
	case <-time.After(exitWithin): // a child outside of its group keeps them open
		p.messages.Close()
	}
	_ = p.cmd.Wait() // closes stdout
	close(over)
	<-read
	p.messages.Close()
	p.closeRequests()
	if p.log != nil {
		p.log.Close()
	}
	close(p.lines)
}

// read passes on lines until the end of a stream, or until over is closed.
func (p *child) read(from io.Reader, fd int, over <-chan struct{}) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, maxMessage)
	pass := func(i incoming) bool {
		select {
		case p.lines <- i:
			return true
		case <-over:
			return false
		}
	}
	for in.Scan() {
		if !pass(incoming{line: append([]byte(nil), in.Bytes()...), from: fd}) {
			return
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		pass(incoming{from: fd, err: fmt.Errorf("a line of more than %d bytes", maxMessage)})
	}
}

// chose records the descriptor on which the process writes: 1 or 4. Requests go to the
// descriptor that belongs to it.
func (p *child) chose(fd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) < 2 {
		return
	}
	keep, other := p.requests[0], p.requests[1]
	if fd == 4 {
		keep, other = other, nil // stdin stays open, because some programs end with it
	}
	if other != nil {
		other.Close()
		p.messages.Close() // the end of its stdout is the end of its messages
	}
	p.requests = []io.WriteCloser{keep}
}

// send writes a request.
func (p *child) send(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := error(io.ErrClosedPipe)
	for _, w := range p.requests {
		if _, e := w.Write(line); e == nil {
			err = nil
		}
	}
	return err
}

// closeRequests ends the stream of requests.
func (p *child) closeRequests() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.requests {
		w.Close()
	}
	p.requests = nil
}

// signal signals the process and all others in its group.
func (p *child) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.group > 0 {
		_ = unix.Kill(-p.group, s)
	}
}

// maxLog is the number of bytes of a process's stderr that are kept in the run's folder.
const maxLog = 8 << 20

// capped writes up to a number of bytes, and drops the rest.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, _ = c.w.Write(p[:n])
	return len(p), nil
}

// tail keeps the end of a process's output, for errors.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-2000):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// lastLines returns the last lines, at most n.
func (t *tail) lastLines(n int) string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}
