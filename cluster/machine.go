package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// The faults of the machine below a master: its clock, its disk, its power.

// maxRate bounds how much faster than the true time a clock may run.
const maxRate = 1000

func (c Clock) rate() float64 {
	if c.Rate == 0 {
		return 1
	}
	return c.Rate
}

func (c Clock) check() error {
	if r := c.rate(); math.IsNaN(r) || r < 0 || r > maxRate {
		return fmt.Errorf("clock rate %v: want more than 0 and at most %d seconds in a true second", c.Rate, maxRate)
	}
	if c.Offset.Abs() > 20*365*24*time.Hour {
		return fmt.Errorf("clock offset %v: want at most 20 years", c.Offset)
	}
	return nil
}

// shimmed says why there are no faults of the shim.
func (m *master) shimmed() error {
	if m.unshimmed == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, m.unshimmed)
}

func (m *master) SetClock(ctx context.Context, c Clock) error {
	return m.act(ctx, "set the clock of", func(ctx context.Context) error {
		if err := c.check(); err != nil {
			return err
		}
		if c == (Clock{}) {
			for _, s := range m.servers() { // also of one that was the master when it was hurt
				if s.page != nil {
					s.page.setClock(c)
				}
			}
		} else if err := m.shimmed(); err != nil {
			return err
		}
		s := m.now()
		if s.page == nil {
			return nil
		}
		s.page.setClock(c)
		return s.showsTime(ctx)
	})
}

const (
	clockWithin = 2 * time.Second       // for TIME to show a new setting
	clockSlack  = 20 * time.Millisecond // Redis may answer with a time that it noted a moment ago
)

// showsTime returns when TIME shows the clock that is set. A master that does not
// answer can not show it.
func (s *server) showsTime(ctx context.Context) error {
	for began := time.Now(); ; {
		client := s.asked()
		if s.State() != Up || client == nil {
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
		if err == nil && !t.Before(s.page.wall(asked).Add(-clockSlack)) && !t.After(s.page.wall(answered).Add(clockSlack)) {
			return nil
		}
		if time.Since(began) > clockWithin {
			return fmt.Errorf("its TIME does not show it within %v: %v, %v; want %v", clockWithin, t, err, s.page.wall(answered))
		}
		sleep(ctx, time.Millisecond)
	}
}

func (m *master) SetDisk(ctx context.Context, d Disk) error {
	return m.act(ctx, "set the disk of", func(context.Context) error {
		if d.FsyncDelay < 0 {
			return fmt.Errorf("fsync delay %v: want 0 or more", d.FsyncDelay)
		}
		if d == (Disk{}) {
			for _, s := range m.servers() {
				s.hurtDisk(false)
				if s.page != nil {
					s.page.setDisk(d)
				}
			}
			return nil
		}
		if err := m.shimmed(); err != nil {
			return err
		}
		m.now().hurtDisk(true)
		m.now().page.setDisk(d)
		return nil
	})
}

func (m *master) CutPower(ctx context.Context, p Power) (cut Cut, err error) {
	err = m.act(ctx, "cut the power of", func(ctx context.Context) error {
		if err := m.shimmed(); err != nil {
			return err
		}
		s := m.now()
		if s.State() != Down {
			if err := s.kill(ctx, "cut the power of"); err != nil {
				return err
			}
		}
		cut, err = s.page.cut(s.data(), p)
		s.log.mark("the power cut took %d bytes of %d files, and %d changes of names", cut.Bytes, cut.Files, cut.Names)
		return err
	})
	return cut, err
}
