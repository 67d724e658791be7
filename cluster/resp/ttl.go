package resp

import (
	"strings"
	"time"
)

// Unit is the unit of a TTL.
type Unit uint8

// The units of TTLs.
const (
	Milliseconds Unit = iota
	Seconds
	AtMilliseconds // ms since 1970
	AtSeconds
)

// expiries holds the commands that have a TTL at a fixed place, after the key.
var expiries = map[string]Unit{
	"expire": Seconds, "pexpire": Milliseconds, "expireat": AtSeconds, "pexpireat": AtMilliseconds, "setex": Seconds, "psetex": Milliseconds,
}

// setUnit returns the unit of an option of SET that sets a TTL.
func setUnit(option string) (u Unit, ok bool) {
	switch len(option) {
	case len("px"):
		if option[1]|0x20 != 'x' {
			return 0, false
		}
		switch option[0] | 0x20 {
		case 'p':
			return Milliseconds, true
		case 'e':
			return Seconds, true
		}
	case len("pxat"):
		switch {
		case strings.EqualFold(option, "pxat"):
			return AtMilliseconds, true
		case strings.EqualFold(option, "exat"):
			return AtSeconds, true
		}
	}
	return 0, false
}

// ExpiryAt returns the index of the argument of a command that is its TTL or its deadline, and the unit; 0: it has none.
func ExpiryAt(args []string) (at int, u Unit) {
	name := strings.ToLower(args[0])
	if u, ok := expiries[name]; ok && len(args) > 2 {
		return 2, u
	}
	options := 3 // after the key and the value
	switch name {
	case "set":
	case "getex":
		options = 2
	default:
		return 0, 0
	}
	for i := options; i+1 < len(args); i++ {
		if u, ok := setUnit(args[i]); ok {
			return i + 1, u
		}
	}
	return 0, 0
}

// TTL returns the TTL that a command sets; 0: none.
func TTL(args []string, now time.Time) time.Duration {
	at, u := ExpiryAt(args)
	if at == 0 {
		return 0
	}
	return Lifetime(args[at], u, now)
}

// Lifetime parses a TTL; 0: it is not a TTL.
func Lifetime(text string, u Unit, now time.Time) time.Duration {
	n, err := number([]byte(text))
	if err != nil || n <= 0 {
		return 0
	}
	const years = 1 << 53 / int64(time.Millisecond) // in ms: beyond, a time.Duration would overflow
	switch u {
	case Seconds:
		return time.Duration(min(n, years/1000)) * time.Second
	case AtSeconds:
		return max(0, time.Unix(min(n, maxNumber/1000), 0).Sub(now))
	case AtMilliseconds:
		return max(0, time.UnixMilli(n).Sub(now))
	}
	return time.Duration(min(n, years)) * time.Millisecond
}
