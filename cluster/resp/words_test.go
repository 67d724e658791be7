package resp_test

import (
	"strings"
	"testing"
	"time"

	"lockpick/cluster/resp"
)

func TestWhereACommandHasItsTTL(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for command, want := range map[string]time.Duration{
		"SET k v":                      0,
		"SET k v NX PX 1500":           1500 * time.Millisecond,
		"set k EX EX 3":                3 * time.Second, // the value is EX
		"SET k v PXAT 1000002500 NX":   2500 * time.Millisecond,
		"SET k v EX":                   0,
		"GETEX k EXAT 1000007":         7 * time.Second,
		"SETEX k 5 v":                  5 * time.Second,
		"psetex k 5 v":                 5 * time.Millisecond,
		"PEXPIRE k 20 NX":              20 * time.Millisecond,
		"EXPIREAT k 1000001":           time.Second,
		"PEXPIRE k":                    0,
		"EVALSHA 1f2e 1 k token 30000": 0, // only the script knows
	} {
		if got := resp.TTL(strings.Fields(command), now); got != want {
			t.Errorf("%s has a TTL of %v, want %v", command, got, want)
		}
	}
}

func TestWordsOfCommands(t *testing.T) {
	for _, name := range []string{"EVAL", "evalsha", "Fcall_Ro"} {
		if !resp.RunsScript(name) {
			t.Errorf("%s runs a script", name)
		}
	}
	if resp.RunsScript("exec") || resp.HasText("EVALSHA") || !resp.HasText("eval_RO") || !resp.IsOption("pxAT") || resp.IsOption("px1") {
		t.Error("a word is taken for another one")
	}
}
