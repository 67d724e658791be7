package sim

import (
	"testing"

	"lockpick/redlock/protocol"
)

// A script that is added to the lock needs a Go version here.
func TestEveryScriptOfRedlockHasAGoVersion(t *testing.T) {
	for _, s := range protocol.Scripts {
		if goScript(s.SHA) == nil {
			t.Errorf("no Go version in goscripts.go of this script of redlock:\n%s", s.Text)
		}
	}
}

func TestAScriptWithoutAGoVersionIsAClearError(t *testing.T) {
	w := NewWorld(1)
	m := New(w, oneMaster, Options{}).masters[0]
	r := m.db().execute("eval", []string{"return 42", "0"})
	want := `ERR simulated masters do not speak Lua, and have no Go version of this script; register one with sim.RegisterScript: "return 42"`
	if r.kind != replyError || r.text != want {
		t.Errorf("got %v", r)
	}
}

// TestGiveBackIsTheScript: the short way for the script that releases a lock answers and
// does what its Go version does, and leaves to it what ends with an error.
func TestGiveBackIsTheScript(t *testing.T) {
	for name, prepare := range map[string]func(db DB){
		"nothing":          func(DB) {},
		"the token":        func(db DB) { db.execute("set", []string{"k", "t"}) },
		"another token":    func(db DB) { db.execute("set", []string{"k", "u"}) },
		"a hash":           func(db DB) { db.execute("hset", []string{"k", "f", "t"}) },
		"what has expired": func(db DB) { db.s.put("k", value{text: "t", expires: db.now - 1}) },
		"a disk that fails": func(db DB) {
			db.execute("set", []string{"k", "t"})
			db.m.disk.broken = true
		},
	} {
		answers := func(short bool) (reply, int) {
			db := New(NewWorld(1), oneMaster, Options{}).masters[0].db()
			prepare(db)
			if short {
				if n, done := db.fastRelease("k", "t"); done {
					return intReply(n), len(db.s.pairs)
				}
			}
			return db.perform(goScript(protocol.CompareAndDelete.SHA), protocol.CompareAndDelete.SHA, []string{"k"}, []string{"t"}), len(db.s.pairs)
		}
		short, left := answers(true)
		long, want := answers(false)
		if short.String() != long.String() || left != want {
			t.Errorf("%s: %v with %d keys left, and the script %v with %d", name, short, left, long, want)
		}
	}
}
