package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"lockpick/internal/wholefile"
)

// The shim is a shared object that the loader puts before a server's libc. Clock faults, disk
// faults and power cuts need it; everything else works without it.

// kernelSource is compiled in front of each of the other two: the shim of servers, and that of
// programs with skewed clocks.
var (
	//go:embed shim/kernel.c
	kernelSource []byte
	//go:embed shim/shim.c
	serverSource []byte
	//go:embed shim/clocks.c
	clocksSource []byte
)

// These are the environment variables of a server.
const (
	shimEnv = "LOCKPICK_SHIM" // directory of the shared memory and the kept files
	dataEnv = "LOCKPICK_DATA" // its data directory
)

// preload returns the setting that makes a program load a shim. preloaded is the user's own value
// of LD_PRELOAD.
func preload(object, preloaded string) string {
	if preloaded != "" {
		object += ":" + preloaded
	}
	return "LD_PRELOAD=" + object
}

// Environment returns the environment that makes a server load the shim.
func Environment(object, shimDir, data, preloaded string) []string {
	return []string{preload(object, preloaded), shimEnv + "=" + shimDir, dataEnv + "=" + data}
}

// Compiler finds the host's C compiler: its command and leading arguments.
func Compiler() ([]string, error) {
	if cc := strings.Fields(os.Getenv("CC")); len(cc) > 0 {
		if _, err := exec.LookPath(cc[0]); err != nil {
			return nil, fmt.Errorf("find the C compiler that $CC names: %w; correct or unset CC", err)
		}
		return cc, nil
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("find a C compiler: there is no cc, gcc or clang on the PATH; install one: apt-get install gcc")
}

// compileFlags returns flags that need only the compiler itself and no files of the system. The
// result needs only functions at run time that every libc has.
func compileFlags() []string {
	flags := []string{
		"-std=gnu11", "-O2", "-fPIC", "-shared", "-nostdlib", "-ffreestanding", "-fno-builtin",
		"-fno-stack-protector", "-fvisibility=hidden", "-w",
		fmt.Sprintf("-DMAGIC=%#xull", uint64(pageMagic)),
		fmt.Sprintf("-DSLOTS=%d", slots), fmt.Sprintf("-DRECORDS=%d", records),
		fmt.Sprintf("-DNAME=%d", nameSize), fmt.Sprintf("-DKEPT=%d", keptFiles),
	}
	if runtime.GOARCH == "arm64" {
		flags = append(flags, "-mno-outline-atomics") // the outline atomics are in libgcc
	}
	return flags
}

// shimFolder makes the directory of shims: in the user's cache, or in the folder of the masters'
// data if there is no writable cache.
func shimFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		dir := filepath.Join(cache, "lockpick")
		if err = os.MkdirAll(dir, 0o755); err == nil {
			return dir, nil
		}
	}
	dir, other := dataFolder()
	if other != nil {
		return "", fmt.Errorf("make the directory for the fault shim: %w", errors.Join(err, other))
	}
	return dir, nil
}

const compileWithin = 30 * time.Second

// ShimObject returns the path of the servers' shim, and builds it if there is none or if it is damaged.
func ShimObject(ctx context.Context) (string, error) {
	return buildObject(ctx, "shim", serverSource)
}

// buildObject returns the path of a shim, and builds it if there is none or if it is damaged. Concurrent builds are safe:
// each writes a file of its own.
func buildObject(ctx context.Context, name string, source []byte) (_ string, err error) {
	source = slices.Concat(kernelSource, source)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return "", fmt.Errorf("the fault shim runs on Linux on x86-64 and arm64, and this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	dir, err := shimFolder()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%q\x00%q\x00", runtime.GOARCH, compileFlags(), os.Getenv("CC"))
	h.Write(source)
	object := filepath.Join(dir, name+"-"+hex.EncodeToString(h.Sum(nil)[:8])+".so")
	if strings.ContainsAny(object, " :") {
		return "", fmt.Errorf("the fault shim would be %s, and a path with a space or a colon can not be preloaded; set XDG_CACHE_HOME to another directory", object)
	}
	if built, err := os.ReadFile(object); err == nil && sealed(built) {
		return object, nil
	}
	scratch, remove, err := Scratch()
	if err != nil {
		return "", fmt.Errorf("build the fault shim: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	built := filepath.Join(scratch, name+".so")
	if err := compile(ctx, scratch, built, source); err != nil {
		return "", err
	}
	content, err := os.ReadFile(built)
	if err == nil {
		err = wholefile.Replace(object, 0o755, wholefile.Content(seal(content)))
	}
	if err != nil {
		return "", fmt.Errorf("build the fault shim: %w; set XDG_CACHE_HOME to another directory", err)
	}
	return object, nil
}

// seal appends the SHA-256 of a shim to it. The loader ignores what follows the sections of an object, so the sum needs
// no file of its own that could be of another build.
func seal(object []byte) []byte {
	sum := sha256.Sum256(object)
	return slices.Concat(object, sum[:])
}

// sealed reports whether a file is a whole shim with its sum. A shim that a full disk or a bad one damaged would make
// each server that loads it end or lie.
func sealed(file []byte) bool {
	n := len(file) - sha256.Size
	return n > 0 && bytes.Equal(seal(file[:n]), file)
}

// compile builds the shim. The compiler's temporary files are in scratch, too, because the compiler
// may be killed.
func compile(ctx context.Context, scratch, to string, source []byte) error {
	cc, err := Compiler()
	if err != nil {
		return fmt.Errorf("build the fault shim: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, compileWithin, fmt.Errorf("it did not end within %v", compileWithin))
	defer cancel()
	args := append(cc[1:], compileFlags()...)
	cmd := exec.CommandContext(ctx, cc[0], append(args, "-o", to, "-x", "c", "-")...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "TMPDIR="+scratch), bytes.NewReader(source)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	said := strings.TrimSpace(string(out))
	if lines := strings.SplitN(said, "\n", 6); len(lines) > 5 {
		said = strings.Join(lines[:5], "\n")
	}
	return fmt.Errorf("build the fault shim with %s: %w; it said:\n%s", strings.Join(cc, " "), err, said)
}
