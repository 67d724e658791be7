//go:build real

package campaign

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/clients"
	"lockpick/history"
)

// foreignScenario runs a command as the clients, against one master that is killed.
func foreignScenario(t *testing.T, client ...string) scenario.Scenario {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
	return shortScenario(scenario.Process, func(s *scenario.Scenario) {
		s.Client, s.Masters, s.Faults, s.Nemesis, s.TimeLimit = client, 1, []string{"kill"}, scenario.Guided, 20*time.Second
		s.StopOnViolation = true
	}).WithRequirements()
}

// TestLibraryInAnotherLanguageIsConvictedAndExplained: redis-py's lock, unmodified, on a master that forgets. It is
// explained as a lock of Lockpick's own is: who had the master's vote, which fault took it away, who got it then.
func TestLibraryInAnotherLanguageIsConvictedAndExplained(t *testing.T) {
	s := foreignScenario(t, "redis-py")
	if out, err := exec.Command("/usr/bin/python3", "-c", "import redis").CombinedOutput(); err != nil {
		t.Skipf("needs python3-redis: %v: %s", err, out)
	}
	h, r := mustShow(t, s, "L2 violated")
	if h.Header.Lock != "redis-py" || strings.Join(h.Header.Client, " ") != "redis-py" || !strings.HasPrefix(h.Header.Versions["library"], "redis-py ") {
		t.Errorf("header %+v", h.Header)
	}
	v := verdictAt(r, "L2")
	if len(v.Violations) == 0 {
		t.Fatal("no violation is told")
	}
	var said []string
	for _, e := range v.Violations[0].Events {
		said = append(said, string(e.Kind))
	}
	story := strings.Join(said, " ")
	for _, kind := range []narrative.EventKind{narrative.EventGranted, narrative.EventFault, narrative.EventUp} {
		if !strings.Contains(story, string(kind)) {
			t.Errorf("the explanation has no %s: %s", kind, story)
		}
	}
	if faults := history.Faults(h.Ops); len(faults) == 0 || v.Violations[0].At-faults[0].From > 10*time.Second {
		t.Errorf("violated at %v; faults %+v", v.Violations[0].At, faults)
	}
}

// TestVotesOfClientsThatSendNoOrdinaryCommands: MediaWiki's lock is a field of a hash that a script writes on all masters, and
// a client of Java's sockets writes RESP by itself. Their votes are read, and over masters that remember they exclude.
func TestVotesOfClientsThatSendNoOrdinaryCommands(t *testing.T) {
	t.Parallel()
	for name, masters := range map[string]int{"mediawiki": 3, "java-socket": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := clients.Resolve([]string{name}); err != nil {
				t.Skip(err)
			}
			s := foreignScenario(t, name)
			s.Masters, s.Persistence, s.StopOnViolation = masters, "always", false
			_, r := mustShow(t, s, "L1 holds", "L2 holds")
			for _, v := range r.Verdicts { // a script of MediaWiki computes its key: no snapshot shows that a token is gone
				if v.Level == "L1" && v.Verdict == checker.Violated {
					t.Errorf("%s: %+v", v.Name, v.Violations[0])
				}
			}
		})
	}
}

// TestClientThatCannotStart: the error says what the client said, and no run is judged.
func TestClientThatCannotStart(t *testing.T) {
	for command, want := range map[string]string{
		"echo no licence >&2; exit 3":                                               "no licence",
		`read l; echo '{"type":"ok","ttl":{"min_ms":5000}}'; read l`:                "--ttl 5s",
		`read l; echo '{"type":"fail","error":"no library"}'; read l`:               "no library",
		`read l; echo '{"type":"ok","can":["extend"],"masters":"many"}'; read line`: "masters",
	} {
		s := foreignScenario(t, "sh", "-c", command)
		_, _, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{Dir: t.TempDir()}, Trust: TrustAll})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// unseen is a client whose lock is a directory of the file system: no link sees a vote.
const unseen = `while read -r l; do case $l in
*'"init"'*) echo '{"type":"ok","lease":"none","masters":1}';;
*'"acquire"'*) n=0; while ! mkdir DIR/lock 2>/dev/null; do n=$((n+1)); [ $n -gt 300 ] && break; sleep 0.01; done
  if [ $n -gt 300 ]; then echo '{"type":"fail","error":"not in time"}'; else echo '{"type":"ok"}'; fi;;
*'"release"'*) rmdir DIR/lock; echo '{"type":"ok"}';;
*'"exit"'*) exit;;
esac; done`

// TestLockWithoutVotesOrLease: where no vote can be seen, the guided nemesis strikes at random and says so; a lock that
// promises no time is valid until it is released; what the client cannot do is not tested.
func TestLockWithoutVotesOrLease(t *testing.T) {
	s := foreignScenario(t, "sh", "-c", strings.ReplaceAll(unseen, "DIR", t.TempDir()))
	s.TimeLimit, s.StopOnViolation, s.Hold, s.LongHolds = 8*time.Second, false, "0s..50ms", 0
	h, r := mustShow(t, s, "L2 holds")
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"strikes at random", "until they are released"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q: %s", want, notes)
		}
	}
	if x := verdictAt(r, "EXT"); x != nil {
		t.Errorf("extensions were judged: %+v", x)
	}
	if len(history.Faults(h.Ops)) < 2 {
		t.Error("the nemesis stopped to strike")
	}
}

// TestClientsAreRestartedAndTheirStderrIsKept: a client that dies starts anew, and what it said is in the run's folder. It
// answers one acquire: one that has never answered would end the run.
func TestClientsAreRestartedAndTheirStderrIsKept(t *testing.T) {
	s := foreignScenario(t, "sh", "-c", `echo born >&2; while read -r l; do case $l in
*'"init"'*) echo '{"type":"ok"}';;
*'"acquire"'*) [ -n "$asked" ] && { echo last words >&2; exit 7; }; asked=yes; echo '{"type":"fail","error":"taken"}';;
*'"exit"'*) exit;;
esac; done`)
	s.TimeLimit, s.Clients, s.Faults = 2*time.Second, 1, nil
	dir, h, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{Dir: t.TempDir()}, Trust: TrustAll})
	if err != nil {
		t.Fatal(err)
	}
	crashes := 0
	for _, op := range h.Ops {
		if op.F == history.FCrash && strings.Contains(op.Error, "last words") {
			crashes++
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "clients", "c1.log"))
	if lives := strings.Count(string(log), "born"); err != nil || crashes < 2 || lives < crashes {
		t.Errorf("%d crashes, %d lives, %v", crashes, lives, err)
	}
}
