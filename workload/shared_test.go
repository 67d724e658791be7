package workload_test

import (
	"context"
	"errors"
	"testing"

	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/workload"
)

// TestLateDowngrade: a downgrade without an answer that arrives after the upgrade that followed it lets no reader in.
func TestLateDowngrade(t *testing.T) {
	late := 0
	err := play(t, "rw", sim.Options{Late: 0.3, LateBy: 500 * ms}, func(s *scene) error {
		s.timeout = 20 * ms
		writer, reader := s.lock("c1"), s.lock("c2").(workload.SharedLock)
		for range 100 {
			lease, err := s.acquire(writer, 5*ttl)
			if err != nil {
				return err
			}
			change := lease.(workload.ModeChanger).ChangeMode
			_, down := change(context.Background(), history.ModeRead)
			if _, up := change(context.Background(), history.ModeWrite); down != nil && up == nil {
				late++
				ctx, end := s.runtime.WithCancelCause(context.Background())
				s.runtime.AfterFunc(500*ms, func() { end(errors.New("given up")) })
				if _, err := reader.AcquireShare(ctx, key, workload.Share{Mode: history.ModeRead}); err == nil {
					return errors.New("a reader joined the writer")
				}
			}
			_ = lease.Release(context.Background())
			s.sleep(ttl)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if late == 0 {
		t.Error("no downgrade was late: the test shows nothing")
	}
}
