package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// This file implements the faults of the machine below a master: its clock, its disk, its
// power.

// shimmed returns the reason why the faults of the shim are not available, or nil if they
// are.
func (m *master) shimmed() error {
	if m.unshimmed == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", cluster.ErrUnavailable, m.unshimmed)
}

func (m *master) SetClock(ctx context.Context, c cluster.Clock) error {
	return m.act(ctx, "set the clock of", func(ctx context.Context) error {
		if err := c.Check(); err != nil {
			return err
		}
		if c == (cluster.Clock{}) {
			for _, s := range m.servers() { // also heal a server that was the master when the fault was set
				if s.shared != nil {
					s.shared.setClock(c)
				}
			}
		} else if err := m.shimmed(); err != nil {
			return err
		}
		s := m.now()
		if s.shared == nil {
			return nil
		}
		s.shared.setClock(c)
		return s.showsTime(ctx)
	})
}

const (
	clockWithin = 2 * time.Second       // time until TIME must show a new setting
	clockSlack  = 20 * time.Millisecond // tolerance, because Redis may answer with a time that it read a moment ago
)

// showsTime returns when TIME shows the setting of the clock. It returns nil for a master
// that does not answer.
func (s *server) showsTime(ctx context.Context) error {
	for began := time.Now(); ; {
		client := s.inspection()
		if s.State() != cluster.Up || client == nil {
			return nil
		}
		asked := time.Now()
		t, err := client.Time(ctx).Result()
		answered := time.Now()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var refused redis.Error
		if err != nil && !errors.As(err, &refused) {
			return nil
		}
		if err == nil && !t.Before(s.shared.wall(asked).Add(-clockSlack)) && !t.After(s.shared.wall(answered).Add(clockSlack)) {
			return nil
		}
		if time.Since(began) > clockWithin {
			return fmt.Errorf("its TIME does not show it within %v: %v, %v; want %v", clockWithin, t, err, s.shared.wall(answered))
		}
		Sleep(ctx, time.Millisecond)
	}
}

func (m *master) SetDisk(ctx context.Context, d cluster.Disk) error {
	return m.act(ctx, "set the disk of", func(context.Context) error {
		if d.FsyncDelay < 0 {
			return fmt.Errorf("fsync delay %v: want 0 or more", d.FsyncDelay)
		}
		if d == (cluster.Disk{}) {
			for _, s := range m.servers() {
				s.hurtDisk(false)
				if s.shared != nil {
					s.shared.setDisk(d)
				}
			}
			return nil
		}
		if err := m.shimmed(); err != nil {
			return err
		}
		m.now().hurtDisk(true)
		m.now().shared.setDisk(d)
		return nil
	})
}

func (m *master) CutPower(ctx context.Context, p cluster.Power) (cut cluster.Cut, err error) {
	err = m.act(ctx, "cut the power of", func(ctx context.Context) error {
		if err := m.shimmed(); err != nil {
			return err
		}
		s := m.now()
		if s.State() != cluster.Down {
			if err := s.kill(ctx, "cut the power of"); err != nil {
				return err
			}
		}
		cut, err = s.shared.cut(s.data(), p)
		s.log.mark("the power cut took %d bytes of %d files, and %d changes of names", cut.Bytes, cut.Files, cut.Names)
		return err
	})
	return cut, err
}
