package service

import (
	"context"
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
	"time"

	"lockpick/cluster"
	"lockpick/cluster/service/spec"
	"lockpick/internal/waittest"
)

// start starts three nodes, which end with the test.
func start(t *testing.T, s *spec.Service) *nodes {
	t.Helper()
	c, err := Start(context.Background(), cluster.Config{Masters: 3, LogDir: t.TempDir()}, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.(*nodes)
}

// says asks a node through the link of a client.
func says(t *testing.T, c *nodes, client string, master int) (string, error) {
	t.Helper()
	link, err := c.Link(client, master)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", link.Addr())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "who\n"); err != nil {
		return "", err
	}
	b := make([]byte, 1<<10)
	n, err := conn.Read(b)
	return string(b[:n]), err
}

// eventually waits until a node says something.
func eventually(t *testing.T, c *nodes, master int, want string) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("m%d says %q", master+1, want), func() bool {
		said, _ := says(t, c, "c1", master)
		return strings.Contains(said, want)
	})
}

// ways are the addresses at which nodes dial each other: a link of each pair, and one that all dial.
var ways = map[string]string{"pairs": `{{.To "peer"}}`, "who dials": `{{.Link "peer"}}`}

func TestNodesOfAServiceAreKilledAndStopped(t *testing.T) {
	ctx := context.Background()
	for name, dials := range ways {
		t.Run(name, func(t *testing.T) {
			c := start(t, described(dials))
			if c.Version() != "1.2" || c.Driver() != DriverName || len(c.Masters()) != 3 {
				t.Fatalf("version %q, driver %s, %d nodes", c.Version(), c.Driver(), len(c.Masters()))
			}
			leader, err := c.Leader(ctx)
			if err != nil || leader.Name() != "m1" {
				t.Fatalf("the leader is %v, %v", leader, err)
			}
			if err := leader.Kill(ctx); err != nil || leader.State() != cluster.Down {
				t.Fatalf("killed: %v, it is %s", err, leader.State())
			}
			if _, err := says(t, c, "c1", 0); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("a node that is down: %v, want a refused connection", err)
			}
			eventually(t, c, 1, "sees m2 m3, has a majority, leads")
			if err := leader.Start(ctx); err != nil {
				t.Fatal(err)
			}
			eventually(t, c, 0, "sees m1 m2 m3, has a majority, leads")

			m3 := c.Masters()[2]
			if err := m3.Pause(ctx); err != nil || m3.State() != cluster.Paused {
				t.Fatalf("stopped: %v, it is %s", err, m3.State())
			}
			if _, err := m3.Inspect(ctx, nil); !errors.Is(err, cluster.ErrPaused) {
				t.Errorf("a look at a stopped node: %v", err)
			}
			eventually(t, c, 0, "sees m1 m2, ")
			if err := m3.Resume(ctx); err != nil {
				t.Fatal(err)
			}
			eventually(t, c, 0, "sees m1 m2 m3")
			if died := m3.(cluster.Mortal).Died(); died != "" {
				t.Errorf("it died: %s", died)
			}
			if err := m3.Shutdown(ctx); err != nil || m3.State() != cluster.Down {
				t.Errorf("shut down: %v, it is %s", err, m3.State())
			}
		})
	}
}

func TestPeersAreCutAndHealed(t *testing.T) {
	for name, dials := range ways {
		t.Run(name, func(t *testing.T) {
			c := start(t, described(dials))
			for _, mode := range []cluster.Mode{cluster.Hold, cluster.Drop} {
				links := c.Between(c.Masters()[:1])
				if len(links) != 4 {
					t.Fatalf("%d links lead to m1 and from it, want 4", len(links))
				}
				for _, l := range links {
					l.Set(cluster.LinkFault{Requests: mode, Replies: mode})
				}
				eventually(t, c, 0, "sees m1\n")
				eventually(t, c, 1, "sees m2 m3, has a majority, leads")
				if leader, err := c.Leader(context.Background()); err != nil || leader.Name() != "m2" {
					t.Errorf("%s: the leader is %v, %v", mode, leader, err)
				}
				for _, l := range links {
					l.Set(cluster.LinkFault{})
				}
				eventually(t, c, 0, "sees m1 m2 m3")
				eventually(t, c, 1, "sees m1 m2 m3")
			}
			if err := c.Bypass(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClientsAreFoundWhereServersSendThem: an address that servers announce leads each client to its own link. So it does for a process
// that the client has started. A program that is not a client is refused.
func TestClientsAreFoundWhereServersSendThem(t *testing.T) {
	c := start(t, described(ways["pairs"]))
	var links []cluster.Link
	for _, client := range []string{"c1", "c2"} {
		link, err := c.Link(client, 0)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, link)
	}
	told, err := c.front(0, "client")
	if err == nil {
		err = c.all[0].listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	asks := func(env ...string) string {
		_, port, _ := net.SplitHostPort(told)
		cmd := exec.CommandContext(t.Context(), "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port+"; (echo who >&3; timeout 5 head -n 1 <&3)")
		cmd.Env = append(os.Environ(), env...)
		said, _ := cmd.Output()
		return string(said)
	}
	for range 2 { // the second process of a client is found like the first
		if said := asks(c.Mark("c2")); !strings.Contains(said, "m1") {
			t.Fatalf("c2 was answered %q", said)
		}
	}
	if links[0].Counts().Passed != 0 || links[1].Counts().Passed == 0 {
		t.Errorf("c1's link passed %+v, that of c2 %+v", links[0].Counts(), links[1].Counts())
	}
	links[1].Set(cluster.LinkFault{Refuse: true})
	if said := asks(c.Mark("c2")); said != "" {
		t.Errorf("c2 is cut off, and was answered %q", said)
	}
	for _, env := range [][]string{nil, {markEnv + "=other/c1"}, {c.Mark("c3")}} {
		if said := asks(env...); said != "" {
			t.Errorf("a program with %q was answered %q", env, said)
		}
	}
}

// TestAServerThatSaysThatItLeadsIsHeardOnce: what it said before clients came is of no interest.
func TestAServerThatSaysThatItLeadsIsHeardOnce(t *testing.T) {
	s := described(ways["pairs"])
	s.Elected = "leads from now on"
	c := start(t, s)
	n := c.all[1]
	write := func(text string) {
		f, err := os.OpenFile(n.site.Log, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ text, want string }{
		{"nothing\n", ""}, {"m2 leads from", ""}, {" now on: 1\n", "m2 leads from now on: 1"}, {"", ""},
		{"leads from now on: 2\nanother line\n", "leads from now on: 2"},
	} {
		if write(step.text); n.Elected() != step.want {
			t.Errorf("after %q: want %q", step.text, step.want)
		}
	}
	if said := c.all[0].Elected(); said != "" {
		t.Errorf("m1 is heard as %q", said)
	}
}

// TestAnAnnouncedAddressIsThatOfALink: nodes that dial the address that another tells them would go past the links.
func TestAnAnnouncedAddressIsThatOfALink(t *testing.T) {
	s := described(ways["pairs"])
	s.Env["LOCKPICK_TEST_BACK"] = "yes"
	s.Told = []string{"peer"}
	c := start(t, s)
	eventually(t, c, 0, "sees m1 m2 m3")
	if err := c.Bypass(); err != nil {
		t.Error(err)
	}
	s.Told = nil
	past, err := Start(context.Background(), cluster.Config{Masters: 3, LogDir: t.TempDir()}, s)
	if err == nil {
		waittest.Until(t, "the connections past the links are found", func() bool {
			err = past.(*nodes).Bypass()
			return err != nil
		})
	}
	if !strings.Contains(err.Error(), "goes past the links") {
		t.Errorf("nodes that dial each other's ports: %v", err)
	}
	if past != nil {
		past.Close()
	}
}

func TestAClientThatGoesPastTheLinksIsFound(t *testing.T) {
	c := start(t, described(ways["pairs"]))
	conn, err := net.Dial("tcp", c.all[0].ports["client"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := c.Bypass(); err != nil { // the harness itself may
		t.Error(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "peers") // a node of another service that greets a port of this one
	if err := os.WriteFile(file, []byte("x 127.0.0.1:1\ny "+c.all[0].ports["peer"]+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(program, "x", "127.0.0.1:0", "127.0.0.1:0", file)
	other.Env = append(os.Environ(), asNode+"=node", c.Mark("c1"))
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	waittest.Until(t, "it is found", func() bool { err = c.Bypass(); return err != nil })
	if !strings.Contains(err.Error(), "must connect to the addresses that Lockpick gives it") {
		t.Error(err)
	}
}

func TestAProcessThatEndsByItselfIsReported(t *testing.T) {
	c := start(t, described(ways["pairs"]))
	if err := syscall.Kill(c.all[1].processGroup(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "its end is reported", func() bool { return c.all[1].Died() != "" })
	if c.all[1].State() != cluster.Down || c.all[1].Died() != "" {
		t.Errorf("it is %s, and its end is reported once more", c.all[1].State())
	}
}

func TestAServiceThatDoesNotStartSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*spec.Service)
	}{
		{"its program ends", "no node today", func(s *spec.Service) { s.Env[asNode] = "broken" }},
		{"there is no such program", "no-such-program", func(s *spec.Service) { s.Command[0] = "no-such-program" }},
		{"it is never ready", `does not match "ready at last"`, func(s *spec.Service) {
			s.Ready.Match, s.Within = "ready at last", 500*time.Millisecond
		}},
		{"a file leaves its folder", "not in the node's folder", func(s *spec.Service) { s.Files["{{.Dir}}/../x"] = "" }},
		{"a program that tells no version", "does not match", func(s *spec.Service) { s.Version.Match = "Version: (x)" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := described(ways["pairs"])
			c.change(s)
			home := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", home)
			_, err := Start(context.Background(), cluster.Config{Masters: 3, LogDir: t.TempDir()}, s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(home, "lockpick", "run", "*-*"))
			if len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// TestProbesAskInThreeWays: a command, HTTP and TCP are tried in the tests of real services, too.
func TestProbesAskInThreeWays(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	said, err := ask(ctx, spec.Probe{Run: []string{"sh", "-c", "echo is up"}, Match: "up$"})
	if err == nil || !strings.Contains(err.Error(), "does not match") {
		t.Errorf("a line that does not match: %q, %v", said, err)
	}
	if said, err = ask(ctx, spec.Probe{Run: []string{"sh", "-c", "echo is up"}, Match: "up\n"}); err != nil || said != "is up\n" {
		t.Errorf("a command said %q, %v", said, err)
	}
	if _, err = ask(ctx, spec.Probe{Run: []string{"sh", "-c", "echo down; exit 1"}}); err == nil || !strings.Contains(err.Error(), "down") {
		t.Errorf("a command that fails: %v", err)
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if _, err = ask(short, spec.Probe{Run: []string{"sleep", "60"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that hangs: %v", err)
	}
}
