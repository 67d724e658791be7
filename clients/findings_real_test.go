//go:build real

package clients

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFindings runs the program of each finding on new masters, and compares the line that it prints. A finding is about
// one version: with another one installed it says nothing.
func TestFindings(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
	inGo := filepath.Join(t.TempDir(), "findings")
	if out, err := exec.Command("go", "build", "-C", "go", "-o", inGo, "./findings").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pinned, err := os.ReadFile("go/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Findings {
		if f.Audit != "" || f.Run != "" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			command := []string{inGo, f.Name}
			if f.file == "" {
				if !strings.Contains(string(pinned), " v"+f.Version+"\n") {
					t.Fatalf("the finding is about version %s, which go.mod does not name", f.Version)
				}
			} else {
				if is := installed(f.debian); is != f.Version {
					t.Skipf("the finding is about version %s of %s, and %q is installed", f.Version, f.debian, is)
				}
				command = append(slices.Clone(f.run[len(f.run)-1]), "findings/"+f.file) // the distribution's interpreter has its libraries
			}
			if f.Store != "" {
				command = append(command, startStore(t, f.Store))
			}
			command = append(command, startMasters(t, f.Masters)...)
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Stderr = t.Output()
			out, err := cmd.Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != f.Shows {
				t.Errorf("got  %s\nwant %s\n%v", got, f.Shows, err)
			}
		})
	}
}

// startStore starts a server of a store, and returns the address for its clients when it serves.
func startStore(t *testing.T, store string) string {
	addr, dir := freeAddr(t), t.TempDir()
	_, port, _ := net.SplitHostPort(addr)
	command, serves := []string{}, ""
	switch store {
	case "etcd":
		command = []string{"etcd", "--data-dir", dir, "--listen-client-urls", "http://" + addr, "--advertise-client-urls", "http://" + addr, "--listen-peer-urls", "http://" + freeAddr(t)}
		serves = "ready to serve client requests"
	case "ZooKeeper":
		command = []string{"java", "-Xmx128m", "-Dzookeeper.admin.enableServer=false", "-Dorg.slf4j.simpleLogger.logFile=System.out",
			"-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:/usr/share/java/*", "org.apache.zookeeper.server.ZooKeeperServerMain", port, dir}
		serves = "Snapshot taken"
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(".ci/setup test installs what is missing: ", err)
	}
	start(t, exec.Command(command[0], command[1:]...), serves)
	return addr
}

// freeAddr returns an address of this machine on which nobody listens.
func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts a server for the duration of the test, and waits until it prints that it serves.
func start(t *testing.T, cmd *exec.Cmd, serves string) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = out.Close() })
	said := ""
	lines := bufio.NewScanner(out)
	for !strings.Contains(said, serves) {
		if !lines.Scan() {
			t.Fatalf("%s: %s", cmd, said)
		}
		said += lines.Text() + "\n"
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // a full pipe would stop the server
}

// startMasters starts redis-server processes that forget, and returns their addresses when they answer.
func startMasters(t *testing.T, n int) (addrs []string) {
	for range n {
		addr := freeAddr(t)
		_, port, _ := net.SplitHostPort(addr)
		start(t, exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir()), "Ready to accept connections")
		addrs = append(addrs, addr)
	}
	return addrs
}

// installed is the upstream version of a package of Debian; "" if it is not installed.
func installed(pkg string) string {
	out, err := exec.Command("dpkg-query", "--show", "--showformat", "${Version}", pkg).Output()
	if err != nil {
		return ""
	}
	version := string(out)
	if _, after, epoch := strings.Cut(version, ":"); epoch {
		version = after
	}
	end := strings.IndexAny(version, "-+~")
	if end < 0 {
		return version
	}
	return version[:end]
}
