package process

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lockpick/cluster"
)

// bench is a page and a data directory without a server: the test writes the
// log as the shim does.
type bench struct {
	*testing.T
	p    *sharedMemory
	data string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if _, _, err := inode(t.TempDir()); err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	b := &bench{T: t, data: filepath.Join(home, "data")}
	if err := os.Mkdir(b.data, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.p, err = newSharedMemory(filepath.Join(home, "shim")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.p.close)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.data, name) }

func (b *bench) ino(name string) (uint64, file) {
	b.Helper()
	ino, f, err := inode(b.path(name))
	if err != nil {
		b.Fatal(err)
	}
	return ino, f
}

func (b *bench) note(op byte, ino, kept uint64, from, to string) {
	n := b.p.word(wordOps).Add(1)
	at := recordsAt + int((n-1)%records)*recordSize
	for i, v := range []uint64{n, uint64(op), ino, kept} {
		binary.LittleEndian.PutUint64(b.p.mem[at+8*i:], v)
	}
	clear(b.p.mem[at+32 : at+recordSize])
	copy(b.p.mem[at+32:], from)
	copy(b.p.mem[at+32+nameSize:], to)
}

func (b *bench) create(name, content string) {
	b.Helper()
	if err := os.WriteFile(b.path(name), []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
	ino, _ := b.ino(name)
	b.note('C', ino, 0, name, "")
}

func (b *bench) keep(name string) uint64 {
	n := b.p.word(wordKept).Add(1)
	os.Remove(b.p.keptFile(n))
	if os.Link(b.path(name), b.p.keptFile(n)) != nil {
		return 0
	}
	return n
}

func (b *bench) rename(from, to string) {
	ino, _ := b.ino(from)
	b.note('R', ino, b.keep(to), from, to)
	if err := os.Rename(b.path(from), b.path(to)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) unlink(name string) {
	ino, _ := b.ino(name)
	b.note('U', ino, b.keep(name), name, "")
	if err := os.Remove(b.path(name)); err != nil {
		b.Fatal(err)
	}
}

// fsync makes a file durable as it is, or a directory's names.
func (b *bench) fsync(name string) {
	b.Helper()
	ino, f := b.ino(name)
	s := slot{ino, uint64(f.size), f.birth}
	if f.dir {
		s.value = b.p.word(wordOps).Load()
	}
	known := b.p.slots()
	known[ino] = s
	var all []slot
	for _, s := range known {
		all = append(all, s)
	}
	if err := b.p.setSlots(all); err != nil {
		b.Fatal(err)
	}
	b.p.word(wordCommitted).Store(b.p.word(wordOps).Load())
}

func (b *bench) cut(p cluster.Power) cluster.Cut {
	b.Helper()
	cut, err := b.p.cut(b.data, p)
	if err != nil {
		b.Fatal(err)
	}
	return cut
}

// has compares the data directory, which has no others, with what is wanted.
func (b *bench) has(want map[string]string) {
	b.Helper()
	found := map[string]string{}
	entries, _ := os.ReadDir(b.data)
	for _, e := range entries {
		content, _ := os.ReadFile(b.path(e.Name()))
		found[e.Name()] = string(content)
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		b.Errorf("left is %v; want %v", found, want)
	}
}

func TestACutUndoesTheNamesThatNoFsyncCommitted(t *testing.T) {
	b := newBench(t)
	b.create("manifest", "old")
	b.create("gone", "bytes")
	b.fsync("manifest")
	b.fsync("gone")
	b.create("temp", "new")
	b.rename("temp", "manifest")
	b.unlink("gone")
	b.create("fresh", "data")
	ino, _ := b.ino("fresh")
	b.note('R', ino, 0, "fresh", "elsewhere") // killed before it was made
	if cut := b.cut(cluster.Power{}); cut.Names != 4 || cut.Files != 2 || cut.Bytes != 7 {
		t.Errorf("the cut took %+v", cut)
	}
	b.has(map[string]string{"manifest": "old", "gone": "bytes"})
	if cut := b.cut(cluster.Power{}); cut != (cluster.Cut{}) {
		t.Errorf("a second cut took %+v", cut)
	}
}

func TestAJournalCommitsNamesWithAnyFsyncAndStrictOnlyWithTheirDirectorys(t *testing.T) {
	for strict, want := range map[bool]map[string]string{
		false: {"b": "1", "c": "", "log": "x"},
		true:  {"a": "1", "log": "x"},
	} {
		b := newBench(t)
		b.create("log", "x")
		b.create("a", "1")
		b.fsync("a")
		b.fsync("")
		b.rename("a", "b")
		b.create("c", "2")
		b.fsync("log")
		b.cut(cluster.Power{Strict: strict})
		b.has(want)
	}
}

// What is kept of removed files is bounded: what was forgotten is not undone, and
// neither is what was before it, or the directory would be one that never was.
func TestACutUndoesNoMoreThanIsKept(t *testing.T) {
	b := newBench(t)
	want := map[string]string{}
	for i := range 2 * keptFiles {
		name := fmt.Sprint("f", i)
		b.create(name, "x")
		b.fsync(name)
		if i >= keptFiles {
			want[name] = "x"
		}
	}
	b.p.word(wordCommitted).Store(0) // no journal
	for i := range 2 * keptFiles {
		b.unlink(fmt.Sprint("f", i))
	}
	if cut := b.cut(cluster.Power{}); cut.Names != keptFiles {
		t.Errorf("the cut took %+v", cut)
	}
	b.has(want)
	if left, _ := os.ReadDir(filepath.Join(b.p.dir, "kept")); len(left) != 0 {
		t.Errorf("%d files are still kept", len(left))
	}
}

func TestTheLedgerForgetsWhatIsGone(t *testing.T) {
	b := newBench(t)
	b.create("a", "1234")
	b.fsync("a")
	ino, f := b.ino("a")
	all := []slot{{ino, 4, f.birth}}
	for i := range uint64(slots / 2) {
		all = append(all, slot{1<<40 + i, 1, 1})
	}
	if err := b.p.setSlots(all); err != nil {
		t.Fatal(err)
	}
	if err := b.p.prepare(b.data); err != nil {
		t.Fatal(err)
	}
	if left := b.p.slots(); len(left) != 1 || left[ino].value != 4 {
		t.Errorf("left is %v", left)
	}
	// The inode of another file than the one that was fsynced.
	if err := b.p.setSlots([]slot{{ino, 4, f.birth + 1}}); err != nil {
		t.Fatal(err)
	}
	b.cut(cluster.Power{})
	b.has(map[string]string{"a": ""})
	b.p.word(wordLost).Store(1)
	if _, err := b.p.cut(b.data, cluster.Power{}); err == nil {
		t.Error("a log that is not complete was cut by")
	}
}

func TestATornCutIsTheSameForTheSameSeed(t *testing.T) {
	length := map[string]bool{}
	for seed := range uint64(12) {
		var first string
		for range 2 {
			b := newBench(t)
			b.create("a", "durable, and then what is not")
			ino, f := b.ino("a")
			if err := b.p.setSlots([]slot{{ino, 7, f.birth}}); err != nil {
				t.Fatal(err)
			}
			b.p.word(wordCommitted).Store(1)
			b.cut(cluster.Power{Torn: true, Seed: seed})
			left, err := os.ReadFile(b.path("a"))
			if err != nil || len(left) < 7 || first != "" && first != string(left) {
				t.Fatalf("seed %d: left is %q, %v; the first time %q", seed, left, err, first)
			}
			first = string(left)
		}
		length[first] = true
	}
	if len(length) < 4 {
		t.Errorf("12 seeds left %v", length)
	}
}
