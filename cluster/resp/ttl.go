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

// unitOf returns the unit of the TTL in a command such as PEXPIRE.
func unitOf(command string) Unit {
	switch command {
	case "expire", "setex":
		return Seconds
	case "expireat":
		return AtSeconds
	case "pexpireat":
		return AtMilliseconds
	}
	return Milliseconds
}

// SetTTL returns the TTL among the options of a SET; 0: none.
func SetTTL(args []string, now time.Time) time.Duration {
	for i := 3; i+1 < len(args); i++ {
		if u, ok := setUnit(args[i]); ok {
			return Lifetime(args[i+1], u, now)
		}
	}
	return 0
}

// TTL returns the TTL that an argument of a command such as PEXPIRE or SETEX sets; 0: none.
func TTL(command, text string, now time.Time) time.Duration {
	return Lifetime(text, unitOf(command), now)
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
