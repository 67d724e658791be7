package narrative

import (
	"fmt"
	"time"
)

// At formats a time or a duration as reports do: in seconds with three decimals.
func At(d time.Duration) string {
	return fmt.Sprintf("%.3fs", d.Seconds())
}

// Share formats a part of a total: "1 of 3 holds". nouns is a plural.
func Share(n, all int, nouns string) string {
	return fmt.Sprintf("%d of %d %s", n, all, nouns)
}

// Again returns a client's name for a sentence that also names beside; it adds "again" if both are
// the same.
func Again(client, beside string) string {
	if client == beside {
		return client + " again"
	}
	return client
}

// Both names two clients; if they are the same, it says "two leases of" that client.
func Both(a, b string) string {
	if a == b {
		return "two leases of " + a
	}
	return a + " and " + b
}

func theyOrIt(masters []string) string {
	if len(masters) > 1 {
		return "they"
	}
	return "it"
}

// shortToken returns the first 8 characters of a token, enough to tell it from others.
func shortToken(token string) string {
	if r := []rune(token); len(r) > 8 {
		return string(r[:8])
	}
	return token
}
