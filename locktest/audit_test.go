package locktest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lockpick/audit"
	"lockpick/internal/racetest"
)

// careless is the simple lock, but it releases whatever is stored.
func careless(env Env) (Lock, error) {
	first := env.Clients()[0]
	return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
		for ctx.Err() == nil {
			began := time.Now()
			if ok, err := first.SetNX(ctx, key, rand.Text(), env.TTL).Result(); ok && err == nil {
				return &Lease{
					Until:   began.Add(env.TTL - env.TTL/50),
					Release: func(ctx context.Context) error { return first.Del(ctx, key).Err() },
				}, nil
			}
			time.Sleep(30 * time.Millisecond)
		}
		return nil, ctx.Err()
	}), nil
}

// heard is a test that remembers what it was told instead of failing.
type heard struct {
	testing.TB
	errors []string
	logged string
}

func (h *heard) Helper()                      {}
func (h *heard) Failed() bool                 { return len(h.errors) > 0 }
func (h *heard) Errorf(f string, args ...any) { h.errors = append(h.errors, fmt.Sprintf(f, args...)) }
func (h *heard) Fatalf(f string, args ...any) { h.errors = append(h.errors, fmt.Sprintf(f, args...)) }
func (h *heard) Log(args ...any)              { h.logged += fmt.Sprintln(args...) }
func (h *heard) Logf(f string, args ...any)   { h.logged += fmt.Sprintf(f, args...) + "\n" }

// TestAudit: the battery fails the test of a lock that deletes the keys of others, in the situation that shows
// it and with the reason, and tells apart what breaks with an assumption.
func TestAudit(t *testing.T) {
	racetest.Exclude(t, "it runs some hundred schedules")
	card, properties := auditIn(t, t.TempDir(), careless, []Option{Masters(1), Schedules(1), Properties("L1")})
	h := &heard{TB: t}
	reportCard(h, card, properties)
	all := strings.Join(h.errors, "\n")
	if strings.Contains(all, "L1 quorum") {
		t.Errorf("a lock of one master needs no quorum of several:\n%s", all)
	}
	if !strings.Contains(all, "L1 own-keys") || !strings.Contains(all, "deleted") || !strings.Contains(all, "scenario.yaml") {
		t.Errorf("no message tells that keys of others are deleted, and how to run it again:\n%s\n%s", all, h.logged)
	}
	if !strings.Contains(all, "likely cause, a hint from the lock's commands: bare-delete") {
		t.Errorf("no message names the command that causes it:\n%s", all)
	}
	for _, e := range h.errors {
		if strings.Contains(e, "L2 mutual-exclusion") {
			t.Errorf("L2 was not asked for:\n%s", e)
		}
		_, path, _ := strings.Cut(e, "scenario: ")
		path, _, _ = strings.Cut(path, " (")
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the scenario is not there: %v", err)
		}
	}

	// The same lock with a release that compares breaks nothing of L1 but where every lock does.
	right, properties := auditIn(t, t.TempDir(), simple, []Option{Masters(1), Schedules(1), Properties("own-keys")})
	h = &heard{TB: t}
	if reportCard(h, right, properties); h.Failed() {
		t.Errorf("a lock that compares is said to hit the keys of others:\n%s", strings.Join(h.errors, "\n"))
	}
	if right.Count()[audit.Safe] < 20 {
		t.Errorf("it is safe in %d cells only:\n%s", right.Count()[audit.Safe], h.logged)
	}
}

// TestAuditOfALockThatUsesOneOfSeveralMasters: nobody said so, and it is convicted of nothing that a lock of one master cannot
// do; the card says that it is not known how many masters it needs. What is wrong anyway is found.
func TestAuditOfALockThatUsesOneOfSeveralMasters(t *testing.T) {
	racetest.Exclude(t, "it runs some hundred schedules")
	card, properties := auditIn(t, t.TempDir(), simple, []Option{Schedules(1)})
	h := &heard{TB: t}
	if reportCard(h, card, properties); h.Failed() {
		t.Errorf("a correct lock is convicted:\n%s", strings.Join(h.errors, "\n"))
	}
	if !strings.Contains(strings.Join(strings.Fields(h.logged), " "), "no lease asked more than 1 of 5 masters (m1), and the lock does not say") {
		t.Errorf("the card does not tell that one of five masters was asked:\n%s", h.logged)
	}
	for _, row := range card.Rows {
		for _, c := range row.Cells {
			for _, f := range c.Findings {
				if f.Property == "quorum" && f.Outcome == audit.Safe && row.ID != "numbers-of-masters" {
					t.Errorf("%s: the quorum is %s, and nobody knows it", row.ID, f.Outcome)
				}
			}
		}
	}
	t.Run("that says it needs a majority", func(t *testing.T) {
		card, properties := auditIn(t, t.TempDir(), simple, []Option{Schedules(1), Properties("quorum"), Majority(), func(c *config) { c.only = []string{"overrun", "crowd"} }})
		h := &heard{TB: t}
		if reportCard(h, card, properties); !strings.Contains(strings.Join(h.errors, "\n"), "with the yes of 1 master, and a quorum needs 3") {
			t.Errorf("it is not convicted:\n%s\n%s", strings.Join(h.errors, "\n"), h.logged)
		}
	})
	card, properties = auditIn(t, t.TempDir(), careless, []Option{Schedules(1), Properties("L1"), func(c *config) { c.only = []string{"overrun", "crowd", "stopped-inside"} }})
	h = &heard{TB: t}
	reportCard(h, card, properties)
	if all := strings.Join(h.errors, "\n"); !strings.Contains(all, "L1 own-keys") || strings.Contains(all, "L1 quorum") {
		t.Errorf("it deletes the keys of others, and is convicted of:\n%s", all)
	}
}
