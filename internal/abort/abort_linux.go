//go:build amd64 || arm64

package abort

//lint:file-ignore U1000 assembly reads the variables

import (
	"syscall"
	"unsafe"
)

// What the handler needs: it cannot allocate.
var (
	sentenceAt     *byte
	sentenceLength uintptr
	exitCode       uintptr
	handlerAt      uintptr // address of the handler, set by the linker
)

// action is the kernel's struct sigaction.
type action struct {
	handler, flags, restorer, mask uintptr
}

// Flags of action.
const (
	onStack  = 0x08000000 // the stack of a goroutine is too small for a handler
	restorer = 0x04000000 // the kernel refuses to call a handler without one on amd64; ours never returns to it
)

func handle(code int, sentence string) {
	text := []byte(sentence + "\n")
	sentenceAt, sentenceLength, exitCode = &text[0], uintptr(len(text)), uintptr(code)
	act := action{handler: handlerAt, flags: onStack | restorer, restorer: handlerAt}
	// If it fails, SIGABRT ends the process as on other systems.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGABRT), uintptr(unsafe.Pointer(&act)), 0, unsafe.Sizeof(act.mask), 0, 0)
}
