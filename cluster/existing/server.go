package existing

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/cluster/resp"
)

// errNotOurs is the reason why most faults are not available.
var errNotOurs = errors.New("the servers are not those of Lockpick, which neither ends nor changes them")

// server implements cluster.Master and cluster.Mortal.
type server struct {
	name   string
	at     cluster.Address
	client *redis.Client // for reading, past the links

	mu   sync.Mutex
	last emptied
	down bool     // it refuses connections
	died []string // what has happened to it since the last call of Died
}

// emptied is what shows that a server may have lost keys before their TTL.
type emptied struct {
	run     string // the id of the run of the server
	evicted int64
	flushed int64 // how often it was emptied
}

// introduce returns what the server says of itself, and an error if it is not an independent master.
func (s *server) introduce(ctx context.Context) (map[string]string, error) {
	if s.at.User != "" && s.at.Password == "" {
		return nil, errors.New("the password of the user is missing: a run does not keep it, so give it again, as in redis://user:password@host:port")
	}
	info := map[string]string{}
	for _, section := range []string{"server", "replication", "cluster"} {
		text, err := s.client.Info(ctx, section).Result()
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("INFO %s: %w. Start the server, or correct its address, user or password", section, err)
		}
		for name, value := range resp.Info(text) {
			info[name] = value
		}
	}
	switch {
	case info["role"] == "slave":
		return nil, errors.New("it is a replica, which takes no writes: name its master")
	case info["cluster_enabled"] == "1":
		return nil, errors.New("it is part of a Redis Cluster, whose servers are not independent masters")
	case info["redis_mode"] == "sentinel":
		return nil, errors.New("it is a Sentinel, which stores no keys: name the master that it watches")
	}
	// What happens from now on shows in the next look at it.
	_, err := s.Inspect(ctx, nil)
	return info, err
}

func (s *server) Name() string { return s.name }

// State returns Down while the server refuses connections.
func (s *server) State() cluster.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return cluster.Down
	}
	return cluster.Up
}

// Died returns what happened to the server that may have cost it keys: nobody but its owner did that.
func (s *server) Died() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := strings.Join(s.died, ", ")
	s.died = nil
	return what
}

// Inspect reads from the server. It tells no tokens of a server that may be on another machine, because their deadlines
// are by a clock of which nothing is known.
func (s *server) Inspect(ctx context.Context, keys []string) (cluster.Snapshot, error) {
	found, err := process.Snapshot(ctx, s.client, keys)
	if err == nil {
		var stats string
		stats, err = s.client.Info(ctx, "commandstats").Result()
		s.compare(emptied{found.RunID, found.Evicted, flushed(stats)})
	}
	if err != nil {
		s.refuses(errors.Is(err, syscall.ECONNREFUSED))
		return cluster.Snapshot{}, fmt.Errorf("look at %s: %w", s.name, err)
	}
	found.Other = found.Other || !s.at.Loopback()
	return found, nil
}

// compare notes what has happened to the server since the last look.
func (s *server) compare(now emptied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch was := s.last; {
	case was == emptied{}: // the first look
	case now.run != was.run:
		s.died = append(s.died, "its owner started it again")
	case now.evicted > was.evicted:
		s.died = append(s.died, "it evicted keys")
	case now.flushed > was.flushed:
		s.died = append(s.died, "somebody emptied it by FLUSHALL or FLUSHDB")
	}
	s.last, s.down = now, false
}

// refuses notes that the server cannot be reached, and whether it refuses connections.
func (s *server) refuses(connections bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if connections && !s.down {
		s.down, s.died = true, append(s.died, "it refuses connections")
	}
}

// flushed returns how many commands have emptied the server, as INFO commandstats says.
func flushed(stats string) (n int64) {
	info := resp.Info(stats)
	for _, command := range []string{"flushall", "flushdb"} {
		calls, _, _ := strings.Cut(strings.TrimPrefix(info["cmdstat_"+command], "calls="), ",")
		made, _ := strconv.ParseInt(calls, 10, 64) // 0: no such command was executed
		n += made
	}
	return n
}

// none is the error of what is not done to these servers.
func (s *server) none() error { return fmt.Errorf("%w: %w", cluster.ErrUnavailable, errNotOurs) }

func (s *server) Pause(context.Context) error                   { return s.none() }
func (s *server) Resume(context.Context) error                  { return s.none() }
func (s *server) Kill(context.Context) error                    { return s.none() }
func (s *server) Shutdown(context.Context) error                { return s.none() }
func (s *server) Start(context.Context) error                   { return s.none() }
func (s *server) SetClock(context.Context, cluster.Clock) error { return s.none() }
func (s *server) SetDisk(context.Context, cluster.Disk) error   { return s.none() }
func (s *server) CutPower(context.Context, cluster.Power) (cluster.Cut, error) {
	return cluster.Cut{}, s.none()
}
func (s *server) FillMemory(context.Context, int64) error          { return s.none() }
func (s *server) DrainMemory(context.Context) error                { return s.none() }
func (s *server) HoldReplication(context.Context, bool) error      { return s.none() }
func (s *server) Failover(context.Context, cluster.Takeover) error { return s.none() }
