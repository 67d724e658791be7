package risk

import (
	"fmt"
	"reflect"
	"time"

	"lockpick/cluster"
	"lockpick/workload"
)

// alternatives returns other setups to compare with, and their names.
func alternatives(s Setup) (list []Alternative, setups []Setup) {
	add := func(name string, change func(*Setup)) {
		other := s
		change(&other)
		if !reflect.DeepEqual(other, s) && other.Check() == nil {
			list, setups = append(list, Alternative{Name: name}), append(setups, other)
		}
	}
	add("persistence: always (appendfsync always)", func(o *Setup) { o.Persistence = string(cluster.Always) })
	delay := (s.TTL + s.TTL/10).Round(time.Millisecond)
	add(fmt.Sprintf("restart_delay: %v (masters stay down for a TTL)", delay), func(o *Setup) { o.RestartDelay = max(o.RestartDelay, delay) })
	if kind, _ := workload.LockNamed(s.Lock); kind.Fencing {
		add("fencing: true (the resource rejects older tokens)", func(o *Setup) { o.Fencing = true })
	}
	for _, n := range []int{1, 3, 5, 7} {
		add(fmt.Sprintf("masters: %d", n), func(o *Setup) { o.Masters = n })
	}
	add(fmt.Sprintf("ttl: %v", s.TTL/2), func(o *Setup) { o.TTL /= 2 })
	add(fmt.Sprintf("ttl: %v", s.TTL*2), func(o *Setup) { o.TTL *= 2 })
	add("extended: true (leases last as long as their sections)", func(o *Setup) { o.Extended = true })
	if s.Replicas > 0 {
		add("wait: 1 (a replica has each vote)", func(o *Setup) { o.Wait = 1 })
		add("replicas: 0, failovers: 0", func(o *Setup) { o.Replicas, o.Wait, o.Failovers = 0, 0, Rate{} })
	}
	return list, setups
}

// notCovered lists the risks that an estimate does not cover.
func notCovered(s *Setup) []string {
	list := []string{
		"Faults that come together for a common reason, other than a power failure of all masters: an update rolled out to all of them within a TTL, a switch that cuts off several.",
		"Three faults or more that meet in one acquisition: bounded above, not simulated.",
		"Mistakes in how a program uses the lock: run `lockpick audit` on the lock, `lockpick watch` on its traffic.",
		"Bursts: acquisitions come at random (Poisson), independently of faults, and all keys that are used are used alike.",
	}
	if s.Failovers.High > 0 {
		list = append(list, "Split brain: the old primary is dead once its replica serves.")
	}
	if s.ClientPauses.High > 0 {
		list = append(list, "Pauses of other clients than the holder, and drifting clocks.")
	}
	return list
}
