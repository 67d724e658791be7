//go:build real

package clients

import (
	"bufio"
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
		if f.Audit != "" {
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

// startMasters starts redis-server processes that forget, and returns their addresses when they answer.
func startMasters(t *testing.T, n int) (addrs []string) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(addr)
		cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		said := ""
		for lines := bufio.NewScanner(out); !strings.Contains(said, "Ready to accept connections"); said += lines.Text() + "\n" {
			if !lines.Scan() {
				t.Fatalf("redis-server on port %s: %s", port, said)
			}
		}
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
