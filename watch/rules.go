package watch

import "slices"

// Severity says how serious a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // two clients can hold the lock at once, or no client can ever acquire it again
	Warning Severity = "warning" // the lock is safe only under conditions, or costs availability or load
)

// Rule is a rule that a lock's commands should follow.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`     // how a lock breaks it, in one sentence
	Fix      string   `json:"fix"`      // what to do instead
	Claim    string   `json:"claim"`    // id of the catalogue's claim that shows the harm
	Slug     string   `json:"slug"`     // that claim's name
	Reenact  string   `json:"re_enact"` // the command that shows the harm on a lock of that kind

	Explains []string `json:"explains"` // levels of the properties that are violated where the rule is broken
	Use      bool     `json:"-"`        // about how a lock is used, deployed and held: a run decides that, or judges it by what it knows for certain
}

// exclusion lists the levels that rest on keys and tokens of one owner.
var exclusion = []string{"L1", "L2", "L3", "L4", "L5"}

// Rules lists all rules, in the order of reports.
var Rules = []Rule{
	{"setnx-then-expire", Error, "The key gets its TTL by a second command: a client that dies between the two locks everyone out.",
		"SET key token NX PX ttl", "2", "setnx-expire", "lockpick claims --only 2", []string{"DF", "AV"}, false},
	{"no-ttl", Error, "The key has no TTL: a client that dies while it holds the lock locks everyone out.",
		"SET key token NX PX ttl", "1", "setnx", "lockpick run --lock setnx --driver sim --faults client-kill", []string{"DF", "AV"}, false},
	{"weak-token", Error, "Tokens can be guessed or repeat: they are short, or numbers such as times, counters and process ids.",
		"at least 16 random bytes for each acquisition", "b13", "weak-token", "lockpick run --lock redlock-weak-token --driver sim --faults client-pause", exclusion, false},
	{"shared-token", Error, "Several connections acquired with the same token: a release cannot tell their leases apart.",
		"a new random token for each acquisition", "b13", "weak-token", "lockpick run --lock redlock-weak-token --driver sim --faults client-pause", exclusion, false},
	{"reused-token", Warning, "A token was granted again after its release: a late release or retry of the earlier lease can end the later one.",
		"a new random token for each attempt", "27", "one-token-for-all-retries", "lockpick claims --only 27", exclusion, false},
	{"bare-delete", Error, "The lock is released by a DEL that compares no token: it may delete the next holder's key.",
		"a script that deletes only if GET returns the token", "4", "bare-del", "lockpick run --lock set-del --driver sim --faults client-pause", exclusion, false},
	{"get-then-delete", Error, "The token is compared in the client, and deleted by a later command: the key may have changed owner between the two.",
		"a script that compares and deletes at once", "5", "get-then-del", "lockpick run --lock set-get-del --driver sim --faults client-pause", exclusion, false},
	{"expire-without-compare", Error, "The TTL is prolonged by a command that compares no token: it may prolong the next holder's lease.",
		"a script that prolongs only if GET returns the token", "56", "lease-reset", "lockpick claims --only 56", []string{"L1", "L2", "L3", "L4", "DF", "EXT"}, false},
	{"script-without-compare", Error, "The script that releases or extends does not compare the token with what is stored.",
		`if redis.call("get", KEYS[1]) == ARGV[1] then …`, "6", "broken-lua", "lockpick run --lock set-broken-lua --driver sim --faults client-pause", []string{"L1", "L2", "L3", "L4", "EXT"}, false},
	{"script-fails", Error, "The script ends with an error, whatever the key stores: if it is the release, the key stays until its TTL.",
		`if redis.call("get", KEYS[1]) == ARGV[1] then …`, "6", "broken-lua", "lockpick run --lock set-broken-lua --driver sim --faults client-pause", []string{"L1", "DF", "AV"}, false},
	{"noscript-ignored", Error, "A release by EVALSHA was answered with NOSCRIPT, and the client did not send the script: the key stays until its TTL.",
		"send EVAL when EVALSHA is answered with NOSCRIPT", "65", "evalsha", "lockpick run --lock redlock-evalsha --driver sim --faults kill", []string{"L1", "DF", "AV"}, false},
	{"ttl-shorter-than-hold", Error, "Holders worked for longer than their lease: meanwhile another client could get the lock.",
		"a longer TTL, extension in time, and fencing at the resource", "29", "pause-after-validity-check", "lockpick run --lock single --driver sim --faults client-pause", []string{"L3", "L4"}, true},
	{"late-extension", Warning, "A lease was extended after it had ended: another client may have had the lock meanwhile.",
		"extend at half of the TTL, and treat a late extension as a lost lock", "b5", "late-extension", "lockpick run --lock redlock-extend-late --driver sim --faults client-pause", []string{"L2", "L3", "L4", "EXT"}, true},
	{"fixed-retry-delay", Warning, "Waiting clients retry at a fixed interval: those that started together go on to collide.",
		"a random delay before each retry", "b17", "fixed-retry-delay", "lockpick claims --only b17", []string{"DF", "AV"}, false},
	{"busy-polling", Warning, "Waiting clients retry almost without a pause: they load Redis and the lock's holder.",
		"a random delay of tens of milliseconds, growing, before each retry", "19", "random-retry-delay", "lockpick claims --only 19", []string{"AV"}, false},
	{"mostly-refused", Warning, "More than 20 attempts are refused for each that is not: clients poll a lock that is held, which loads Redis and its holder.",
		"a queue, wakeups, or a random delay that grows", "19", "random-retry-delay", "lockpick claims --only 19", []string{"AV"}, true},
	{"commands-fail", Warning, "Redis answers at least a tenth of the lock's commands with an error: nobody acquires, and after a failed release the key stays until its TTL.",
		"what the error says: memory (OOM), the user's rights (NOPERM), the address of the master (READONLY), a client for Redis Cluster (MOVED)", "45", "eviction", "lockpick claims --only 45", []string{"DF", "AV"}, true},
	{"lost-by-failover", Warning, "The lock is on a Redis with replicas, and nobody waits for them: a failover forgets leases that were granted.",
		"independent masters, or WAIT and fencing at the resource", "7", "failover", "lockpick run --lock single --driver sim --faults failover", exclusion, true},
	{"lock-on-replica", Error, "Lock commands were sent to a replica, which does not decide who holds the lock.",
		"send them to the master", "7", "failover", "lockpick run --lock single --driver sim --faults failover", exclusion, true},
	{"even-masters", Warning, "The lock asks an even number of masters: it survives no more failures than with one fewer, and votes can split evenly.",
		"3 or 5 masters", "21", "six-masters", "lockpick claims --only 21", []string{"AV"}, true},
	{"less-than-quorum", Error, "The lock was held although fewer than a majority of the masters granted it.",
		"count the majority over all masters, not those that answer", "b1", "reachable-quorum", "lockpick run --lock redlock-reachable-quorum --driver sim --faults partition --time-limit 60s", exclusion, true},
}

// RuleByID returns the rule with an ID. ok is false if there is none.
func RuleByID(id string) (r Rule, ok bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}
