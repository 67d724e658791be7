package existing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/cluster/resp"
)

// DriverName is the driver in the history of a run on these servers.
const DriverName = "existing" // fault.Existing

// answerWithin is how long a server may take to say what it is.
const answerWithin = 5 * time.Second

// servers implements cluster.Cluster.
type servers struct {
	name, version string
	all           []*server
	links         cluster.Links
}

// Start connects to the servers at cfg.At. It returns an error if one does not answer, or is not an independent Redis
// that takes writes.
func Start(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	c := &servers{}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v", answerWithin))
	defer cancel()
	runs := map[string]string{} // names of servers, by the id of their run
	for i, a := range cfg.At {
		s := newServer(fmt.Sprintf("m%d", i+1), a)
		c.all = append(c.all, s)
		info, err := s.introduce(ctx)
		if err == nil && runs[info["run_id"]] != "" {
			err = fmt.Errorf("it is the same server as %s, and masters must be independent of each other", runs[info["run_id"]])
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s at %v: %w", s.name, a, err), c.Close())
		}
		if info["run_id"] != "" { // not every server says one
			runs[info["run_id"]] = s.name
		}
		name, version := resp.ServerOf(info)
		if i == 0 {
			c.name, c.version = name, version
		}
		if cfg.Progress != nil {
			cfg.Progress("%s is %s %s at %v, which Lockpick neither ends nor changes", s.name, name, version, a)
		}
	}
	return c, nil
}

func (c *servers) Driver() string  { return DriverName }
func (c *servers) Server() string  { return c.name }
func (c *servers) Version() string { return c.version }
func (c *servers) Shim() error     { return errNotOurs }

func (c *servers) Masters() []cluster.Master {
	all := make([]cluster.Master, len(c.all))
	for i, s := range c.all {
		all[i] = s
	}
	return all
}

func (c *servers) Link(client string, master int) (cluster.Link, error) {
	return c.links.Link(client, master, c.Masters(), func() (*cluster.TCPLink, error) {
		at := c.all[master].at
		return cluster.NewLink(func() string { return at.Server }, cluster.LinkOptions{Own: true, User: at.User, Password: at.Password})
	})
}

// Close ends the connections to the servers, and leaves the servers as they are.
func (c *servers) Close() (err error) {
	if !c.links.Close() {
		return nil
	}
	for _, s := range c.all {
		err = errors.Join(err, s.client.Close())
	}
	return err
}

// newServer makes a master of a server, without connecting to it.
func newServer(name string, at cluster.Address) *server {
	o := process.InspectionOptions(at.Server, at.Password, "", cluster.Dial)
	o.Username = at.User
	return &server{name: name, at: at, client: redis.NewClient(o)}
}
