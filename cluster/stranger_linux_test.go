package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
	"lockpick/internal/wiretest"
)

// strangerEnv makes the test binary another user's program: "flush ADDRESS" sends FLUSHALL there, "take ADDRESS" listens
// there. Both print what they hear first.
const strangerEnv = "LOCKPICK_TEST_STRANGER"

func TestMain(m *testing.M) {
	if what := os.Getenv(strangerEnv); what != "" {
		if err := beStranger(what); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beStranger(what string) error {
	act, address, _ := strings.Cut(what, " ")
	var c net.Conn
	var err error
	if act == "flush" {
		if c, err = net.Dial("tcp", address); err == nil {
			_, _ = io.WriteString(c, "FLUSHALL\r\n")
		}
	} else {
		var ln net.Listener
		if ln, err = net.Listen("tcp", address); err == nil {
			fmt.Println("listening at", ln.Addr())
			c, err = ln.Accept()
		}
	}
	if errors.Is(err, syscall.ECONNRESET) { // refused while it connected
		fmt.Println(`heard ""`)
		return nil
	}
	if err != nil {
		return err
	}
	heard := make([]byte, 100)
	n, _ := c.Read(heard)
	fmt.Printf("heard %q\n", heard[:n])
	return nil
}

// asStranger starts the test binary as the user nobody.
func asStranger(t *testing.T, what string) *bufio.Reader {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: no program can be run as another user")
	}
	dir, err := os.MkdirTemp("", "lockpick-test-") // that of t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	content, err := os.ReadFile(os.Args[0])
	binary := filepath.Join(dir, "stranger")
	if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(binary, content, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env, cmd.Dir = append(os.Environ(), strangerEnv+"="+what), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Skip("a program cannot be run as another user: ", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return bufio.NewReader(out)
}

// TestAnotherUserCannotUseALink: what another user of the machine sends to a link reaches no master, and the user of
// the harness may use it.
func TestAnotherUserCannotUseALink(t *testing.T) {
	addr := guarded(t, "+OK\r\n")
	l, err := NewLink(func() string { return addr }, LinkOptions{Own: true, Dial: DialOwn, Password: "the-password"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	own := dial(t, l)
	wiretest.Say(t, own, "PING\r\n")
	wiretest.Hear(t, own, "PING\r\n") // the server echoes
	before := l.Counts()
	said, err := asStranger(t, "flush "+l.Addr()).ReadString('\n')
	if err != nil || said != "heard \"\"\n" {
		t.Errorf("the stranger said %q, %v", said, err)
	}
	if got := l.Counts(); got.Strangers != 1 || got.Passed != before.Passed {
		t.Errorf("counts %+v, before %+v", got, before)
	}
}

// TestAnotherUserGetsNoPassword: a program of another user that listens on the port of a master that is down is sent
// nothing, neither by a link nor by a probe.
func TestAnotherUserGetsNoPassword(t *testing.T) {
	for _, by := range []string{"a link", "a dialer"} {
		t.Run(by, func(t *testing.T) {
			out := asStranger(t, "take 127.0.0.1:0")
			said, err := out.ReadString('\n')
			addr, ok := strings.CutPrefix(strings.TrimSpace(said), "listening at ")
			if !ok {
				t.Fatalf("the stranger said %q, %v", said, err)
			}
			if by == "a dialer" {
				if c, err := DialOwn(t.Context(), addr); !errors.Is(err, ErrStranger) {
					t.Errorf("%v, %v", c, err)
				}
			} else {
				l, err := NewLink(func() string { return addr }, LinkOptions{Own: true, Dial: DialOwn, Password: "the-password"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(l.Close)
				c, err := net.Dial("tcp", l.Addr())
				if err == nil {
					heard, _ := io.ReadAll(c)
					c.Close()
					if len(heard) > 0 {
						t.Errorf("heard %q", heard)
					}
				} else if !errors.Is(err, syscall.ECONNRESET) {
					t.Fatal(err)
				}
			}
			waittest.Returns("the stranger", func() {
				if said, err := out.ReadString('\n'); err != nil || said != "heard \"\"\n" {
					t.Errorf("the stranger said %q, %v", said, err)
				}
			})
		})
	}
}

// TestBothFamiliesOfSocketsAreKnown: a client with a socket of IPv6 that speaks IPv4, as those of Java, is known, too,
// and a connection whose other end is closed belongs to nobody.
func TestBothFamiliesOfSocketsAreKnown(t *testing.T) {
	ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Skip("no sockets of IPv6: ", err)
	}
	to := &syscall.SockaddrInet6{Port: ln.Addr().(*net.TCPAddr).Port}
	copy(to.Addr[:], net.IPv4(127, 0, 0, 1).To16())
	if err := syscall.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	c, err := ln.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s, err := socket(c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)); err != nil {
		t.Skip("the kernel does not tell: ", err)
	} else if s.inode == 0 || int(s.uid) != os.Getuid() || s.listens {
		t.Errorf("the client's socket is %+v", s)
	}
	if fromStranger(c) {
		t.Error("the own client is a stranger")
	}
	syscall.Close(fd)
	if !fromStranger(c) {
		t.Error("a client that has closed its socket is known")
	}
}
