package workload

import (
	"path"
	"runtime"
	"strings"
)

// Stack is the stack of a goroutine without the parts that differ between two runs of one program:
// numbers, addresses and the folders of files.
type Stack struct {
	State  string   // running, sync.Mutex.Lock, parked, …; empty: there is no such goroutine
	Frames []string // "lockpick/workload.(*textbook).Acquire textbook.go:70", the innermost call first
}

// parked is the state of a goroutine that waits in virtual time.
const parked = "coroutine"

// Blocks reports whether the goroutine exists and does not wait in virtual time.
func (s Stack) Blocks() bool { return s.State != "" && s.State != parked }

// Evidence formats the stack for the history, one line for each frame.
func (s Stack) Evidence() string {
	state := s.State
	if state == parked {
		state = "it waits in virtual time"
	}
	return strings.Join(append([]string{state}, s.Frames...), "\n")
}

// Goroutine returns the name of the current goroutine, such as "goroutine 17".
func Goroutine() string {
	var room [64]byte
	return goroutineOf(string(room[:runtime.Stack(room[:], false)]))
}

// goroutine returns the name of the current goroutine. Finding it takes a stack trace, so a runtime that
// reuses goroutines remembers their names.
func (w *Workload) goroutine() string {
	if r, ok := w.runtime.(interface {
		Goroutine(find func() string) string
	}); ok {
		return r.Goroutine(Goroutine)
	}
	return Goroutine()
}

func goroutineOf(stack string) string {
	name, _, _ := strings.Cut(stack, " [")
	return name
}

// StackOf returns the current stack of a goroutine.
func StackOf(name string) Stack {
	room := make([]byte, 1<<20)
	n := runtime.Stack(room, true)
	for n == len(room) && n < 64<<20 {
		room = make([]byte, 2*len(room))
		n = runtime.Stack(room, true)
	}
	for stack := range strings.SplitSeq(string(room[:n]), "\n\n") {
		if goroutineOf(stack) == name {
			return ParseStack(stack)
		}
	}
	return Stack{}
}

// ParseStack parses the output of runtime.Stack about one goroutine, down to the frame in which the
// client calls its lock.
func ParseStack(text string) Stack {
	head, rest, _ := strings.Cut(text, "\n")
	_, state, _ := strings.Cut(head, "[")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",") // remove the length of the wait, and the thread to which it is locked
	s := Stack{State: state}
	lines := strings.Split(rest, "\n")
	for i := len(lines) - 2; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "panic(") { // the frames above it handle the panic
			lines = lines[i+2:]
			break
		}
	}
	for i := 0; i+1 < len(lines); i += 2 {
		call, at := lines[i], strings.TrimSpace(lines[i+1])
		if j := strings.LastIndexByte(call, '('); j > 0 {
			call = call[:j]
		}
		if strings.HasPrefix(call, "lockpick/workload.(*client).in") || strings.HasPrefix(call, "lockpick/workload.guarded.run") || strings.HasPrefix(call, "created by ") {
			break
		}
		at, _, _ = strings.Cut(at, " ")
		s.Frames = append(s.Frames, call+" "+path.Base(at))
	}
	return s
}
