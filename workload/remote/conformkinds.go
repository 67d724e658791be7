package remote

import (
	"fmt"
	"time"

	"lockpick/history"
)

// patience of the requests that another client's lease refuses, and of those that are granted.
const (
	refusedWithin = 200 * time.Millisecond
	grantedWithin = 3 * time.Second
)

// acquireAs sends a request to acquire, which asks for more than a key.
func (t *talk) acquireAs(r Request, within time.Duration, types ...history.Type) (Message, error) {
	r.Op, r.Within, r.WithinMS = opAcquire, within, inMS(within)
	return t.want(r, within+conformTTL, types...)
}

// pair starts two clients.
func (k *kit) pair() (one, other *talk, err error) {
	if one, _, err = k.begin("c1"); err == nil {
		other, _, err = k.begin("c2")
	}
	return one, other, err
}

// checkDowngrade makes a writer a reader: another reader is granted the lock beside it.
func (k *kit) checkDowngrade() error {
	one, other, err := k.pair()
	if err != nil {
		return err
	}
	key := k.key()
	m, err := one.acquire(key, grantedWithin, history.OK)
	if err != nil {
		return err
	}
	if _, err := one.want(Request{Op: opExtend, Key: key, Token: m.Value.Token, Mode: history.ModeRead}, conformTTL, history.OK); err != nil {
		return err
	}
	second, err := other.acquireAs(Request{Key: key, Mode: history.ModeRead}, grantedWithin, history.OK)
	if err != nil {
		return fmt.Errorf("c1 has become a reader: %w", err)
	}
	if err := other.release(key, second, history.OK); err != nil {
		return err
	}
	return one.release(key, m, history.OK)
}

// checkUpgrade makes a reader the writer, which is refused while another client reads.
func (k *kit) checkUpgrade() error {
	one, other, err := k.pair()
	if err != nil {
		return err
	}
	read := Request{Key: k.key(), Mode: history.ModeRead}
	m, err := one.acquireAs(read, grantedWithin, history.OK)
	if err != nil {
		return err
	}
	second, err := other.acquireAs(read, grantedWithin, history.OK)
	if err != nil {
		return fmt.Errorf("while c1 reads: %w", err)
	}
	upgrade := Request{Op: opExtend, Key: read.Key, Token: m.Value.Token, Mode: history.ModeWrite}
	if _, err := one.want(upgrade, conformTTL, history.Fail); err != nil {
		return fmt.Errorf("while c2 reads, too: %w", err)
	}
	if err := other.release(read.Key, second, history.OK); err != nil {
		return err
	}
	if _, err := one.want(upgrade, conformTTL, history.OK); err != nil {
		return fmt.Errorf("while c1 alone reads: %w", err)
	}
	if _, err := other.acquireAs(read, refusedWithin, history.Fail, history.Info); err != nil {
		return fmt.Errorf("while c1 writes: %w", err)
	}
	return one.release(read.Key, m, history.OK)
}

// checkSeveralKeys acquires keys of which another client has one: none of them is acquired.
func (k *kit) checkSeveralKeys() error {
	one, other, err := k.pair()
	if err != nil {
		return err
	}
	c, a, b := k.key(), k.key(), k.key()
	both := []string{b, a}
	m, err := one.acquireAs(Request{Key: b, Keys: both}, grantedWithin, history.OK)
	if err != nil {
		return err
	}
	for _, keys := range [][]string{{a}, {c, b}} {
		if _, err := other.acquireAs(Request{Key: keys[0], Keys: keys}, refusedWithin, history.Fail, history.Info); err != nil {
			return fmt.Errorf("while c1 holds %s and %s, c2 asks for %v: %w", a, b, keys, err)
		}
	}
	left, err := one.acquire(c, conformTTL/2, history.OK)
	if err != nil {
		return fmt.Errorf("c2 was refused %s and %s, and nobody holds %s: %w", c, b, c, err)
	}
	if err := one.release(c, left, history.OK); err != nil {
		return err
	}
	if _, err := one.want(Request{Op: opRelease, Key: b, Keys: both, Token: m.Value.Token}, conformTTL, history.OK); err != nil {
		return err
	}
	all := []string{a, b, c}
	m, err = other.acquireAs(Request{Key: a, Keys: all}, grantedWithin, history.OK)
	if err != nil {
		return fmt.Errorf("c1 has released its keys: %w", err)
	}
	_, err = other.want(Request{Op: opRelease, Key: a, Keys: all, Token: m.Value.Token}, conformTTL, history.OK)
	return err
}
