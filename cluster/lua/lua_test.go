package lua

import (
	"testing"

	"lockpick/cluster/keyspace"
)

// echo is a server whose commands reply with their name.
type echo struct{}

func (echo) Call(name string, _ []string) keyspace.Reply { return keyspace.Bulk(name) }

// TestScriptsKeepNothing: what a script does to KEYS and ARGV is gone when the next one runs.
func TestScriptsKeepNothing(t *testing.T) {
	const state = `return {#KEYS, #ARGV, KEYS.x or 'none', KEYS[1] or 'none', KEYS[2] or 'none', ARGV[3] or 'none'}`
	const fresh = `[(integer) 1 (integer) 2 "none" "k" "none" "none"]`
	for _, text := range []string{
		`return 1`, `KEYS.x = 1`, `KEYS[2] = 'y'`, `KEYS[1] = nil`, `ARGV[3] = 1`, `ARGV[5] = 1`, `setmetatable(KEYS, {__index = function() return 7 end})`, `table.remove(ARGV)`, `rawset(_G, 'KEYS', {})`, `error('x')`,
	} {
		for range 2 {
			run(t, text, []string{"a", "b", "c"}, []string{"1"})
			run(t, text, []string{"k"}, []string{"1", "2"})
			if got := run(t, state, []string{"k"}, []string{"1", "2"}); got != fresh {
				t.Errorf("after %s: %s", text, got)
			}
		}
	}
}

func run(t *testing.T, text string, keys, args []string) string {
	t.Helper()
	s, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(echo{}, keys, args).String()
}

func TestFlagsOfAScript(t *testing.T) {
	s, err := Compile("#!lua flags=no-writes,allow-oom\nreturn 1")
	if err != nil || !s.Flags.Stated || !s.Flags.NoWrites || !s.Flags.AllowOOM {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := Compile("#!lua flags=nosuch\nreturn 1"); err == nil {
		t.Error("an unknown flag is accepted")
	}
}
