package redlock

import "time"

// crowd is callers who were woken by the same votes. Where they do next to nothing between
// two questions, they ask again within some µs, and it is worth while to wait for the last
// of them: a write costs more than ten commands in it do. Where they have other things to
// do, it would be in vain, and that is found out by trying, ever more rarely. Nobody knows
// who asks: any question counts for one of those who were woken.
type crowd struct {
	awake   int           // of those who were woken, so many have yet to ask
	woken   time.Duration // when they were
	awaited bool          // questions are on the desk until the last of them asks …
	since   time.Duration // … since then
	alarm   *time.Timer   // rings if they take too long
	vain    float64       // so often, of all times lately, it was waited in vain
	passed  int           // so many crowds were not waited for since, because of that
}

const (
	// crowdMost is how many callers are waited for at most: more make many writes'
	// worth of commands anyway.
	crowdMost = 32
	// crowdFor is within what time those who ask together do.
	crowdFor = 100 * time.Microsecond
	// vainMost is how often it may be waited in vain, which may cost a millisecond. If it is
	// more, each such time is followed by tryEach crowds that are not waited for.
	vainMost = 0.1
	tryEach  = 1 << 10
	// lately is about the latest so many that were waited for.
	lately = 64
)

// presence is how much of a crowd has asked again.
type presence int

const (
	unknown presence = iota // it is not to be waited for
	some
	all
)

// wakes notes that so many callers are about to be woken together.
func (c *crowd) wakes(n int, now time.Duration) {
	if !c.awaited && now-c.woken > crowdFor {
		c.awake = 0
	}
	if n <= crowdMost {
		c.awake, c.woken = c.awake+n, now
	}
}

// asks counts in one who asks.
func (c *crowd) asks(now time.Duration) presence {
	switch {
	case c.awake == 0:
		return unknown
	case !c.awaited && now-c.woken > crowdFor:
		c.awake = 0
		return unknown
	}
	c.awake--
	switch {
	case c.awake == 0 && c.awaited:
		c.awaited = false
		c.alarm.Stop()
		c.vain -= c.vain / lately
		return all
	case c.awake == 0:
		return all
	case c.awaited:
		return some
	case c.vain > vainMost && c.passed < tryEach:
		c.passed++
		c.awake = 0
		return unknown
	}
	return some
}

// late says whether they have taken too long, and have then scattered.
func (c *crowd) late(now time.Duration) bool {
	if !c.awaited || now-c.since < crowdFor {
		return false
	}
	c.awaited, c.awake, c.passed = false, 0, 0
	c.vain += (1 - c.vain) / lately
	return true
}

// await has what is on the desk be carried by the last of the crowd, or soon. The caller
// holds m.mu.
func (m *redisMasters) await(now time.Duration) {
	c := &m.desk.crowd
	c.awaited, c.since = true, now
	if c.alarm == nil {
		c.alarm = time.AfterFunc(crowdFor, func() { m.wake(0, m.now()) })
	} else {
		c.alarm.Reset(crowdFor)
	}
}

// wake notes that so many callers are about to be woken together. If others have been
// waited for for too long, what is on the desk is carried: a timer alone may take a
// millisecond to ring where there is nothing else to do.
func (m *redisMasters) wake(n int, now time.Duration) {
	d := &m.desk
	m.mu.Lock()
	carry := d.crowd.late(now) && !d.carrying && len(d.questions) > 0
	d.carrying = d.carrying || carry
	if n > 0 {
		d.crowd.wakes(n, now)
	}
	m.mu.Unlock()
	if carry {
		m.goroutines.Go(m.carryOn)
	}
}
