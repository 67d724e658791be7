package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/process"
	"lockpick/cluster/sim/world"
	"lockpick/internal/waittest"
)

// realServer is a real master that can be asked.
type realServer struct {
	cluster.Master
	client *redis.Client
}

func (s realServer) do(words []string) string {
	var args []any
	for _, x := range words {
		args = append(args, x)
	}
	v, err := s.send(args)
	switch {
	case errors.Is(err, redis.Nil):
		return "(nil)"
	case err != nil:
		return "(error) " + err.Error()
	}
	return show(v)
}

// send sends a blocking command in a transaction, where it does not wait: while the server's clock
// stands still, its timeout never ends.
func (s realServer) send(args []any) (any, error) {
	ctx := context.Background()
	if c, _ := lookUp(args[0].(string)); c == nil || c.Waits == nil {
		return s.client.Do(ctx, args...).Result()
	}
	var done *redis.Cmd
	if _, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		done = p.Do(ctx, args...)
		return nil
	}); err != nil && done.Err() == nil {
		return nil, err
	}
	return done.Result()
}

// freeze stops the server's clock within a millisecond. A busy machine needs many attempts.
func (s realServer) freeze(at time.Time) error {
	ctx := context.Background()
	var failed error
	frozenAt := waittest.BecomesTrue(func() bool {
		if failed = s.SetClock(ctx, cluster.Clock{Offset: time.Until(at.Add(200 * time.Microsecond)), Rate: frozen}); failed != nil {
			return true
		}
		var is time.Time
		is, failed = s.client.Time(ctx).Result()
		return failed != nil || is.Truncate(time.Millisecond).Equal(at)
	})
	if !frozenAt {
		return errors.New("the clock could not be stopped within a millisecond")
	}
	return failed
}

// awaitWritten waits until the server has handed all to the file.
func (s realServer) awaitWritten() error {
	var failed error
	written := waittest.BecomesTrue(func() bool {
		var info string
		info, failed = s.client.Info(context.Background(), "persistence").Result()
		return failed != nil || strings.Contains(info, "\naof_buffer_length:0\r") && strings.Contains(info, "\naof_pending_bio_fsync:0\r")
	})
	if !written {
		return errors.New("the server does not write its file")
	}
	return failed
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "(nil)"
	case int64:
		return fmt.Sprintf("(integer) %d", v)
	case error: // of a command in a transaction
		return "(error) " + v.Error()
	case []any:
		var items []string
		for _, x := range v {
			items = append(items, show(x))
		}
		return "[" + strings.Join(items, " ") + "]"
	}
	return strconv.Quote(fmt.Sprint(v))
}

// simulatedServer is a simulated one.
type simulatedServer struct{ *Master }

func (s simulatedServer) do(words []string) string {
	s.admit()
	r := s.execute(words[0], words[1:])
	s.pass(s.settle())
	return spell(&r)
}

// spell formats a simulated reply as show formats a real one.
func spell(r *keyspace.Reply) string {
	switch r.Kind {
	case keyspace.ReplyError:
		return "(error) " + r.Text
	case keyspace.ReplyInt:
		return fmt.Sprintf("(integer) %d", r.N)
	case keyspace.ReplyNil, keyspace.ReplyNilArray:
		return "(nil)"
	case keyspace.ReplyMapOrPairs:
		var items []string
		for i := 0; i < len(r.Items); i += 2 {
			pair := keyspace.Array(r.Items[i : i+2]...)
			items = append(items, spell(&pair))
		}
		return "[" + strings.Join(items, " ") + "]"
	case keyspace.ReplyArray, keyspace.ReplyMap, keyspace.ReplyPairs:
		var items []string
		for i := range r.Items {
			items = append(items, spell(&r.Items[i]))
		}
		return "[" + strings.Join(items, " ") + "]"
	}
	return strconv.Quote(r.Text)
}

// frozen is a clock that stands still, so that both servers see the same time.
const frozen = 1e-9

// realMaster starts one real master, or skips the test and says why.
func realMaster(t *testing.T, p cluster.Persistence) realServer {
	t.Helper()
	ctx := context.Background()
	if ok, why := process.Available(ctx); !ok {
		t.Skip("nothing to compare with: ", why)
	}
	c, err := process.Start(ctx, cluster.Config{Masters: 1, Persistence: p, Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Shim(); err != nil {
		t.Skip("no clock that can be set: ", err)
	}
	link, err := c.Link("c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: link.Addr(), Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, PoolSize: 1})
	t.Cleanup(func() { client.Close() })
	return realServer{c.Masters()[0], client}
}

// TestSimulatedMastersAnswerLikeReal runs random traces of commands, steps of the
// clock and ends of the server on both.
func TestSimulatedMastersAnswerLikeReal(t *testing.T) {
	for _, p := range cluster.Persistences {
		t.Run(string(p), func(t *testing.T) {
			there := realMaster(t, p)
			began := time.Now()
			traces := 0
			rapid.Check(t, func(t *rapid.T) {
				if time.Since(began) > 3*time.Second {
					return
				}
				traces++
				w := world.New(1)
				c := New(w, cluster.Config{Masters: 1, Persistence: p, Admin: true}, Options{})
				here := simulatedServer{c.masters[0]}
				steps := rapid.SliceOfN(rapid.Custom(drawStep), 10, 40).Draw(t, "steps")
				var differs error
				if err := w.Run(func() { differs = trace(p, there, here, steps) }); err != nil || differs != nil {
					t.Fatal(errors.Join(err, differs))
				}
			})
			t.Logf("%d traces", traces)
		})
	}
}

// traced is one step of a trace: a command, or time that goes by, or the server's end
// and start.
type traced struct {
	words []string
	later time.Duration
	end   string
}

func (s traced) String() string {
	switch {
	case s.words != nil:
		return fmt.Sprintf("%q", s.words)
	case s.end != "":
		return s.end
	}
	return "+" + s.later.String()
}

func drawStep(t *rapid.T) traced {
	switch n := rapid.IntRange(0, 99).Draw(t, "step"); {
	case n < 82:
		return traced{words: words(t)}
	case n < 96:
		return traced{later: time.Millisecond * rapid.SampledFrom([]time.Duration{1, 2, 49, 50, 51, 500, 999, 1000, 1001, 2500}).Draw(t, "ms")}
	case n < 98:
		return traced{end: "kill"}
	case n < 99:
		return traced{end: "shutdown"}
	}
	return traced{end: "cut"}
}

// trace says where the two differ.
func trace(p cluster.Persistence, there realServer, here simulatedServer, steps []traced) error {
	ctx := context.Background()
	// The simulated clock stands still in the midst of a millisecond: at its edge a rounded
	// nanosecond would decide whether a key has expired.
	const midst = 500 * time.Microsecond
	base, offset := time.Now().Truncate(time.Second), time.Duration(0)
	clock := func() error {
		// At once: SetClock would take some of the time that it is to stop.
		here.setClock(cluster.Clock{Offset: time.Minute + midst + offset - here.world.Elapsed(), Rate: frozen})
		return there.freeze(base.Add(offset))
	}
	// What is left until an absolute time (PEXPIREAT) differs by as much as the clocks do.
	ahead := world.Epoch.Add(time.Minute).Sub(base)
	asClocks := func(cmd []string, a, b string) bool {
		var there, here int64
		unit := map[string]time.Duration{"pttl": time.Millisecond, "ttl": time.Second}[strings.ToLower(cmd[0])]
		_, err := fmt.Sscanf(a+" "+b, "(integer) %d (integer) %d", &there, &here)
		return err == nil && unit > 0 && there-here == int64(ahead/unit)
	}
	names := []string{"a", "b", "c", "a:fence"}
	both := func(cmd ...string) error {
		if strings.EqualFold(cmd[0], "dbsize") { // it counts keys that have expired until Redis finds them, which takes it up to 100 ms
			find := append([]string{"exists"}, names...)
			there.do(find)
			here.do(find)
		}
		a, b := plain(cmd, there.do(cmd)), plain(cmd, here.do(cmd))
		if a != b && !asClocks(cmd, a, b) && !(cmd[0] == "time" && len(cmd) == 1) { // TIME differs by the years since Epoch
			return fmt.Errorf("%q: real %s, simulated %s", cmd, a, b)
		}
		return nil
	}
	if err := errors.Join(clock(), both("flushall"), both("script", "flush")); err != nil {
		return err
	}
	for i, s := range steps {
		var err error
		switch {
		case s.words != nil:
			err = both(s.words...)
		case s.end == "":
			offset += s.later
			err = clock()
		case s.end == "cut" && p == cluster.Everysec: // when exactly it fsyncs is chance
		default:
			if p == cluster.Everysec { // a write that an fsync puts off is written soon after it
				if err := there.awaitWritten(); err != nil {
					return err
				}
				here.pass(120 * time.Millisecond)
			}
			for _, m := range []cluster.Master{there, here} {
				err = errors.Join(err, end(ctx, m, s.end), m.Start(ctx))
			}
		}
		if err = errors.Join(err, both("pttl", "a")); err != nil {
			return fmt.Errorf("step %d of %v: %w", i, steps, err)
		}
	}
	var errs []error
	for _, key := range names {
		errs = append(errs, both("type", key), both("get", key), both("pttl", key), both("hgetall", key), both("lrange", key, "0", "-1"), both("smembers", key), both("zrange", key, "0", "-1", "withscores"), both("xrange", key, "-", "+"))
	}
	return errors.Join(errs...)
}

func end(ctx context.Context, m cluster.Master, how string) error {
	switch how {
	case "kill":
		return m.Kill(ctx)
	case "shutdown":
		return m.Shutdown(ctx)
	}
	_, err := m.CutPower(ctx, cluster.Power{})
	return err
}

// unordered are the commands whose replies have no order.
var unordered = []string{"hgetall", "hkeys", "hvals", "smembers", "sinter", "sunion", "sdiff", "keys", "scan", "hscan", "sscan", "zscan"}

// plain leaves out of a reply what names the line of a script, and the order that means nothing.
func plain(cmd []string, reply string) string {
	before, _, _ := strings.Cut(reply, " script: ")
	if slices.Contains(unordered, strings.ToLower(cmd[0])) && strings.HasPrefix(reply, "[") {
		items := strings.FieldsFunc(before, func(r rune) bool { return strings.ContainsRune("[] ", r) })
		slices.Sort(items)
		return strings.Join(items, " ")
	}
	return before
}
