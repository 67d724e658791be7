package cluster

import (
	"crypto/tls"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/internal/waittest"
	"lockpick/internal/wiretest"
)

func TestUsersAreThoseOfRedissFiles(t *testing.T) {
	all, err := ParseUsers("# a comment\nuser app on >se/cret ~lock:* +@all\n\nuser other on >x >y -@all\n")
	if err != nil || len(all) != 2 || all[0] != (User{"app", "se/cret", "on >se/cret ~lock:* +@all"}) || all[1].Password != "x" {
		t.Errorf("%+v, %v", all, err)
	}
	for text, says := range map[string]string{
		"":                            "such as: user app on",
		"app on >secret":              "such as: user app on",
		"user default on >secret":     "Lockpick's own",
		"user app on nopass +@all":    "needs a password",
		"user app on #0123 +@all":     "needs a password",
		"user app >secret":            "cannot log in",
		"user a on >x\nuser a on >y":  "two users a",
		`user app on >"a b" ~* +@all`: "quotes",
	} {
		if _, err := ParseUsers(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func TestTheAddressOfALinkHasAllThatClientsNeed(t *testing.T) {
	for want, a := range map[string]Access{
		"redis://127.0.0.1:1":                      {},
		"redis://app:a%2Fb@127.0.0.1:1":            {User: "app", Password: "a/b"},
		"rediss://127.0.0.1:1":                     {CA: "ca.pem"},
		"rediss://app:a%40b%3A%3F%23c@127.0.0.1:1": {User: "app", Password: "a@b:?#c", CA: "ca.pem"},
	} {
		if got := a.URL("127.0.0.1:1"); got != want {
			t.Errorf("%+v: %s, want %s", a, got, want)
		}
	}
}

// secured makes a link that speaks TLS, and the settings of its clients.
func secured(t *testing.T, master string) (*TCPLink, *tls.Config) {
	t.Helper()
	certificate, authority, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	a := Access{CA: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(a.CA, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := a.TLS()
	if err != nil {
		t.Fatal(err)
	}
	settings.ServerName = "127.0.0.1"
	l, err := NewLink(func() string { return master }, LinkOptions{TLS: certificate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, settings
}

// TestALinkEndsTLS: the master gets plain bytes, the client's hang-up reaches it, and its own end reaches the client.
func TestALinkEndsTLS(t *testing.T) {
	w := newWitness(t, true)
	l, settings := secured(t, w.addr())
	c := tls.Client(dial(t, l), settings)
	wiretest.Say(t, c, "hello")
	wiretest.Hear(t, c, "hello")
	if got, _, _ := w.saw(0); got != "hello" {
		t.Fatalf("the master saw %q", got)
	}
	c.CloseWrite()
	if rest, err := io.ReadAll(c); len(rest) != 0 || err != nil {
		t.Fatalf("after the end: %q, %v", rest, err)
	}
	if got := l.Counts(); got != (LinkCounts{Passed: 10}) {
		t.Errorf("counts %+v; want 10 passed", got)
	}
	plain := dial(t, l)
	wiretest.Say(t, plain, "PING\r\n")
	if _, err := io.ReadAll(plain); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if got, _, _ := w.saw(1); got != "" {
		t.Errorf("of a client without TLS the master saw %q", got)
	}
}

// TestAHandshakeWaitsForTheFaultToEnd: a client behind a partition gets no handshake, and one that a fault loses is reset at its
// end, as a client that has sent bytes.
func TestAHandshakeWaitsForTheFaultToEnd(t *testing.T) {
	for _, f := range []LinkFault{{Requests: Hold}, {Replies: Hold}, {Requests: Drop}, {Replies: Drop}} {
		w := newWitness(t, true)
		l, settings := secured(t, w.addr())
		l.Set(f)
		c := tls.Client(dial(t, l), settings)
		shaken := make(chan error, 1)
		go func() { shaken <- c.Handshake() }()
		waittest.Until(t, "the link has accepted it", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.conns) == 1
		})
		select {
		case err := <-shaken:
			t.Fatalf("%+v: the handshake ended during the fault: %v", f, err)
		case <-time.After(4 * handshakeEvery): // it is not sure to be seen, but never seen where it is right
		}
		l.Set(LinkFault{})
		if err := <-shaken; (err != nil) != (f.Requests == Drop || f.Replies == Drop) {
			t.Errorf("%+v: the handshake ended with %v", f, err)
		} else if err == nil {
			wiretest.Say(t, c, "late")
			wiretest.Hear(t, c, "late")
		}
	}
}

// TestAMasterThatDoesNotAnswerShakesNoHands: a link with commands of its own begins the handshake once they are answered.
func TestAMasterThatDoesNotAnswerShakesNoHands(t *testing.T) {
	w := newWitness(t, false)
	l, settings := secured(t, w.addr())
	l.Password = "x"
	c := tls.Client(dial(t, l), settings)
	waittest.Until(t, "the link logs in", func() bool { got, _, _ := w.saw(0); return strings.Contains(got, "AUTH") })
	c.SetDeadline(time.Now().Add(4 * handshakeEvery))
	if err := c.Handshake(); err == nil {
		t.Error("the handshake is done before the master has answered")
	}
}
