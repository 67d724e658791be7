package cli

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionNamesTheCommitAndWhetherItWasChanged(t *testing.T) {
	settings := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: modified},
		}}
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{settings("false"), "lockpick dev (commit 0123456789ab of 2026-01-02T03:04:05Z), "},
		{settings("true"), "lockpick dev (commit 0123456789ab of 2026-01-02T03:04:05Z, with uncommitted changes), "},
		{nil, "lockpick dev (no commit recorded), "},
	} {
		if got, want := buildOf(c.info).String(), c.want+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestVersionPrintsJSON(t *testing.T) {
	stdout, stderr, code := lockpick(t, t.TempDir(), "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(stdout), &b); err != nil || code != exitHolds || b.Go != runtime.Version() {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
}

func TestCompletionIsOffered(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if stdout, stderr, code := lockpick(t, t.TempDir(), "completion", shell); code != exitHolds || !strings.Contains(stdout, "lockpick") {
			t.Errorf("%s: exit %d, %d characters\n%s", shell, code, len(stdout), stderr)
		}
	}
	// What the shell asks: values of arguments and of flags.
	for ask, want := range map[string]string{"list ": "claims", "run --driver ": "sim", "run --lock ": "redlock-no-validity", "run --persistence ": "everysec", "run --faults ": "kill", "check ": "latest"} {
		args := append([]string{"__complete"}, strings.Split(ask, " ")...)
		if stdout, _, _ := lockpick(t, t.TempDir(), args...); !strings.Contains(stdout, want) {
			t.Errorf("lockpick %s<Tab> does not offer %q: %q", ask, want, stdout)
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	for _, c := range rootCommand().Commands() {
		if !c.Hidden && c.Name() != "help" && !strings.Contains(c.Example, "lockpick "+c.Name()) {
			t.Errorf("lockpick %s --help has no example of it", c.Name())
		}
	}
}
