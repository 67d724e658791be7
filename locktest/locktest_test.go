package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/search"
)

// simple is a lock on the first master: SET NX PX, and a release that compares.
func simple(env Env) (Lock, error) {
	first := env.Clients()[0]
	release := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
		token := rand.Text()
		for ctx.Err() == nil {
			began := time.Now()
			if ok, err := first.SetNX(ctx, key, token, env.TTL).Result(); ok && err == nil {
				return &Lease{
					Until:   began.Add(env.TTL - env.TTL/50),
					Release: func(ctx context.Context) error { return release.Run(ctx, first, []string{key}, token).Err() },
				}, nil
			}
			time.Sleep(30 * time.Millisecond)
		}
		return nil, ctx.Err()
	}), nil
}

func TestASimpleLockHoldsOverAMasterThatRemembers(t *testing.T) {
	Explore(t, simple, Masters(1), Schedules(60))
}

// found runs the schedules of a lock without failing the test, and returns a history that
// violates mutual exclusion; nil: none does.
func found(t *testing.T, make func(Env) (Lock, error), options ...Option) *judge.Result {
	t.Helper()
	c := prepare(t, "Explore", nil, make, options)
	r := &runner{t: t}
	s := c.base
	s.TimeLimit = 10 * time.Second
	for seed := range uint64(10) {
		s.Seed = seed
		h, err := r.run(t.Context(), s.WithRequirements())
		if err != nil {
			t.Fatal(err)
		}
		result, err := judge.History(h)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := result.FirstViolation(s.Properties); v != nil {
			return result
		}
	}
	return nil
}

func TestASimpleLockIsConvictedOverAMasterThatForgets(t *testing.T) {
	result := found(t, simple, Masters(1), Persistence("none"), Faults("kill"))
	if result == nil {
		t.Fatal("no violation in 10 runs")
	}
	v, _ := result.FirstViolation(nil)
	if text := story(v, scenario.Scenario{}); !strings.Contains(text, "killed") || !strings.Contains(text, "m1") {
		t.Errorf("the story does not tell of the kill:\n%s", text)
	}
}

func TestAnErrorOfTheLockIsTold(t *testing.T) {
	c := prepare(t, "Explore", nil, func(Env) (Lock, error) {
		other := redis.NewClient(&redis.Options{Addr: "10.9.9.9:6379", Dialer: nil, MaxRetries: -1})
		defer other.Close()
		return nil, errors.New("no master at 10.9.9.9")
	}, nil)
	if _, err := (&runner{t: t}).run(t.Context(), c.base.WithRequirements()); err == nil || !strings.Contains(err.Error(), "10.9.9.9") {
		t.Errorf("the error of the lock is not told: %v", err)
	}
}

// TestAClientIsStoppedAtItsQuorum: a client that was stopped when the votes had decided does not send
// or get anything, and is not granted the lock, before it goes on.
func TestAClientIsStoppedAtItsQuorum(t *testing.T) {
	c := prepare(t, "Explore", nil, simple, []Option{Masters(1), Clients(2), Faults("client-pause")})
	s := c.base
	s.TimeLimit = 8 * time.Second
	s.Schedule = []scenario.Step{{Fault: "client-pause", Clients: []string{"c1"}, Point: "after-quorum", For: 3 * time.Second}}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	h, err := (&runner{t: t}).run(t.Context(), s.WithRequirements())
	if err != nil {
		t.Fatal(err)
	}
	var from, to time.Duration
	for _, op := range h.Ops {
		switch stopped := op.F == history.FPaused && op.Process == "c1"; {
		case stopped && op.Type == history.Invoke:
			from = op.Time
		case stopped:
			to = op.Time
		case from > 0 && to == 0 && op.Process == "c1":
			t.Errorf("while it was stopped, at %v: %+v", op.Time, op)
		}
	}
	if to-from < 2*time.Second {
		t.Errorf("it was stopped from %v to %v, want for 3s", from, to)
	}
}

func TestGoroutinesThatALockLeavesBehindAreReported(t *testing.T) {
	c := prepare(t, "Explore", nil, func(env Env) (Lock, error) {
		go func() { select {} }()
		return simple(env)
	}, []Option{Masters(1)})
	c.base.TimeLimit = 2 * time.Second
	r := &runner{t: t}
	if _, err := r.run(t.Context(), c.base.WithRequirements()); err != nil {
		t.Fatal(err)
	}
	if r.leaked.Load() != 1 {
		t.Error("a goroutine that waits for ever was not noticed")
	}
}

func TestSchedulesRunBesideEachOther(t *testing.T) {
	c := prepare(t, "Explore", nil, simple, []Option{Masters(1)})
	c.base.TimeLimit = 2 * time.Second
	r := &runner{t: t}
	var all sync.WaitGroup
	for i := range uint64(4) {
		all.Go(func() {
			s := c.base
			s.Seed = i
			if _, err := r.run(context.Background(), s.WithRequirements()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestOnRealRedis: the same test in real time. It is convicted over a master that forgets, and the
// votes in its story are those that its connections carried.
func TestOnRealRedis(t *testing.T) {
	realRedis(t)
	c := prepare(t, "Explore", nil, simple, []Option{RealRedis(), Masters(1), Persistence("none"), Faults("kill"), TTL(time.Second)})
	r := &runner{t: t, real: true}
	found, err := search.Explore(t.Context(), search.ExploreOptions{Base: c.base, TimeLimit: 2 * time.Minute, Schedules: 100, Workers: 1, Properties: c.base.Properties, Run: r.run})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Found) == 0 {
		t.Fatalf("no violation in %d schedules", found.Schedules)
	}
	if text := story(&found.Found[0].Violation, found.Found[0].Scenario); !strings.Contains(text, "by the votes of m1") || !strings.Contains(text, "was killed") {
		t.Errorf("the story does not tell of the votes and the kill:\n%s", text)
	}
	if h := found.Found[0].History; h.Header.Driver != scenario.Process {
		t.Errorf("it ran on %s", h.Header.Driver)
	}
}

// TestAUsersBuildStaysSmall counts the modules that a user's tests need beside their own.
func TestAUsersBuildStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "lockpick/locktest").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]bool{}
	for _, m := range strings.Fields(string(out)) {
		modules[m] = true
		for _, heavy := range []string{"docker", "cobra", "chromedp", "tablewriter"} {
			if strings.Contains(m, heavy) {
				t.Errorf("it needs %s", m)
			}
		}
	}
	if len(modules) < 3 || len(modules) > 15 {
		t.Errorf("it needs %d modules, want at most 15: %v", len(modules), modules)
	}
}

func TestFewNamesAreExported(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						names[s.Name.Name] = true
					}
				}
			}
		}
	}
	if len(names) < 10 || len(names) > 35 { // 27 for mutexes, 8 for other kinds
		t.Errorf("%d names are exported, want at most 35: %v", len(names), names)
	}
}
