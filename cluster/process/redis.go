package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

// persistenceFlags returns the options of redis-server for a kind of persistence. It switches
// every other mechanism off explicitly: with only the AOF off, snapshots would still be on, and
// a clean shutdown would keep the keys.
func persistenceFlags(p cluster.Persistence) ([]string, error) {
	switch p {
	case cluster.None:
		return []string{"--save", "", "--appendonly", "no"}, nil
	case cluster.RDB: // the save points of redis.conf
		return []string{"--save", "3600", "1", "--save", "300", "100", "--save", "60", "10000", "--appendonly", "no"}, nil
	case cluster.Everysec, cluster.Always:
		return []string{"--save", "", "--appendonly", "yes", "--appendfsync", string(p)}, nil
	}
	return nil, fmt.Errorf("persistence %q: there are %s", string(p), join(cluster.Persistences))
}

// memoryFlags returns the options for a limit of memory.
func memoryFlags(limit int64, policy cluster.Eviction) ([]string, error) {
	switch {
	case limit < 0:
		return nil, fmt.Errorf("maximum memory %d: want a number of bytes, or 0 for no limit", limit)
	case policy != "" && !slices.Contains(cluster.Evictions, policy):
		return nil, fmt.Errorf("eviction %q: there are %s", string(policy), join(cluster.Evictions))
	case limit == 0 && policy != "" && policy != cluster.NoEviction:
		return nil, fmt.Errorf("eviction %s without a limit of memory evicts nothing: give a maximum memory, too", policy)
	case limit == 0:
		return nil, nil
	case policy == "":
		policy = cluster.NoEviction
	}
	return []string{"--maxmemory", strconv.FormatInt(limit, 10), "--maxmemory-policy", string(policy)}, nil
}

// join lists the allowed values for an error.
func join[S ~string](all []S) string {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return b.String()
}

// ServerInfo is a master's reply to INFO server.
type ServerInfo struct {
	name    string // by which the server calls itself
	version string
	runID   string
	Pid     int // its process id as the server itself reports it
}

func parseInfo(text string) ServerInfo {
	info := resp.Info(text)
	s := ServerInfo{runID: info["run_id"]}
	s.name, s.version = resp.ServerOf(info)
	s.Pid, _ = strconv.Atoi(info["process_id"])
	return s
}

// probeMost is the greatest size of the replies to a probe in bytes. INFO server takes 1 kB.
const probeMost = 64 << 10

// probe asks a server, on a connection of its own, whether it is ready and which run of the
// server it is. It uses no client library, because a library would retry, negotiate and pool,
// and a probe must report the current state.
func probe(ctx context.Context, dial cluster.Dialer, addr, password string) (ServerInfo, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return ServerInfo{}, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(c, "AUTH "+password+"\r\nPING\r\nINFO server\r\n"); err != nil {
		return ServerInfo{}, err
	}
	r := bufio.NewReader(io.LimitReader(c, probeMost)) // a peer that is not a Redis may send without an end
	switch accepted, err := r.ReadString('\n'); {
	case err != nil:
		return ServerInfo{}, err
	case accepted != "+OK\r\n":
		return ServerInfo{}, fmt.Errorf("%w: %s", errOtherPassword, strings.TrimSpace(accepted))
	}
	pong, err := r.ReadString('\n')
	if err != nil {
		return ServerInfo{}, err
	}
	if pong != "+PONG\r\n" { // it is loading its data
		return ServerInfo{}, fmt.Errorf("PING: %s", strings.TrimSpace(pong))
	}
	head, err := r.ReadString('\n')
	if err != nil {
		return ServerInfo{}, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "$")))
	if err != nil || size < 0 || size > probeMost {
		return ServerInfo{}, fmt.Errorf("INFO server: %.100s", strings.TrimSpace(head))
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return ServerInfo{}, err
	}
	return parseInfo(string(body)), nil
}

// errOtherPassword says that a server does not have the password of this harness's servers.
var errOtherPassword = errors.New("it does not accept the password of the masters")

// lookTimeout limits each step of a snapshot. A healthy master answers in far less time, and
// any other master must not delay the caller.
const lookTimeout = time.Second

// newInspectionClient returns the client for snapshots of a master.
func newInspectionClient(addr, password, name string, dial cluster.Dialer) *redis.Client {
	return redis.NewClient(InspectionOptions(addr, password, name, dial))
}

// InspectionOptions returns the options of a client for snapshots, whose connections have a name (CLIENT SETNAME)
// unless it is empty. It does not retry, because a retry would hide the state that snapshots show.
func InspectionOptions(addr, password, name string, dial cluster.Dialer) *redis.Options {
	return &redis.Options{
		Dialer:                   func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) },
		Addr:                     addr,
		Password:                 password,
		ClientName:               name,
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              lookTimeout,
		ReadTimeout:              lookTimeout,
		WriteTimeout:             lookTimeout,
		PoolTimeout:              lookTimeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		PoolSize:                 4,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// noExpiry is the reply of PTTL for a key without an expiry.
const noExpiry = time.Duration(-1)

// Snapshot reads everything in one round trip, and writes nothing.
func Snapshot(ctx context.Context, c *redis.Client, keys []string) (cluster.Snapshot, error) {
	var info, stats *redis.StringCmd
	var clock *redis.TimeCmd
	values, left := make([]*redis.StringCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	c.Pipelined(ctx, func(p redis.Pipeliner) error {
		info, stats, clock = p.Info(ctx, "server"), p.Info(ctx, "stats"), p.Time(ctx)
		for i, k := range keys {
			values[i], left[i] = p.Get(ctx, k), p.PTTL(ctx, k) // in this order: the TTL is not read before the value
		}
		return nil
	}) // the error of the first command that failed; the code below checks each command
	if err := info.Err(); err != nil {
		return cluster.Snapshot{}, fmt.Errorf("INFO server: %w", err)
	}
	if err := errors.Join(stats.Err(), clock.Err()); err != nil {
		return cluster.Snapshot{}, fmt.Errorf("INFO stats, TIME: %w", err)
	}
	found := cluster.Snapshot{RunID: parseInfo(info.Val()).runID, Keys: map[string]string{}, Expires: map[string]time.Time{}, Time: clock.Val()}
	found.Evicted, _ = strconv.ParseInt(resp.Info(stats.Val())["evicted_keys"], 10, 64)
	for i, k := range keys {
		v, err := values[i].Result()
		switch {
		case err == nil:
			found.Keys[k] = v
			if err := left[i].Err(); err != nil {
				return cluster.Snapshot{}, fmt.Errorf("PTTL %s: %w", k, err)
			}
			if d := left[i].Val(); d >= 0 {
				found.Expires[k] = found.Time.Add(d)
			} else if d != noExpiry { // the key expired between the two commands
				delete(found.Keys, k)
			}
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			found.Other = true
		case errors.Is(err, redis.Nil):
		default:
			return cluster.Snapshot{}, fmt.Errorf("GET %s: %w", k, err)
		}
	}
	return found, nil
}
