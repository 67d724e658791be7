package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// written writes a history file with some votes and returns its path and content.
func written(t *testing.T, lines int) (path string, content []byte) {
	t.Helper()
	var file bytes.Buffer
	r, err := NewRecorder(&file, Header{Name: "compressed"}, func() time.Duration { return 5 })
	if err != nil {
		t.Fatal(err)
	}
	for range lines {
		r.Record(vote())
	}
	path = filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, file.Bytes(), 0o640); err != nil {
		t.Fatal(err)
	}
	return path, file.Bytes()
}

// TestCompressedHistoriesAreReadByThePlainName checks that Compress leaves only the smaller file,
// with the plain file's mode, and that readers find it by the plain file's name.
func TestCompressedHistoriesAreReadByThePlainName(t *testing.T) {
	path, content := written(t, 5_000)
	want, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := Compress(t.Context(), path)
	if err != nil || compressed != path+ZstdSuffix {
		t.Fatal(compressed, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files are left: %v", len(files), files)
	}
	if info, err := os.Stat(compressed); err != nil || info.Mode().Perm() != 0o640 || info.Size() > int64(len(content)/5) {
		t.Errorf("%v %v of %d bytes", info, err, len(content))
	}
	if found, err := Find(path); found != compressed || err != nil {
		t.Errorf("Find says %s, %v", found, err)
	}
	for _, name := range []string{path, compressed} {
		if got, err := ReadFile(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := 0
	h, err := ScanFile(path, func(op *Op) error {
		if op.Index != n {
			t.Fatalf("operation %d came as number %d", op.Index, n)
		}
		n++
		return nil
	})
	if err != nil || n != len(want.Ops) || !reflect.DeepEqual(h.Header, want.Header) || h.Ops != nil {
		t.Errorf("%d operations, %+v, %v", n, h, err)
	}
}

// TestGzip checks that a gzip file is read, even if its name has no suffix.
func TestGzip(t *testing.T) {
	path, content := written(t, 10)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content)
	_ = z.Close()
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err := ReadFile(path); err != nil || len(h.Ops) != 10 || h.Torn {
		t.Errorf("%v, %v", h, err)
	}
}

// TestACompressedFileThatIsCutShortIsTorn checks that the beginning of a truncated compressed file
// is read, and that a corrupted one is refused.
func TestACompressedFileThatIsCutShortIsTorn(t *testing.T) {
	path, _ := written(t, 50_000)
	compressed, err := Compress(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(compressed, content[:len(content)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(path)
	if err != nil || !h.Torn || len(h.Ops) == 0 || len(h.Ops) == 50_000 {
		t.Errorf("%d operations, torn %v, %v", len(h.Ops), h.Torn, err)
	}
	content[len(content)/2] ^= 0xff
	if err := os.WriteFile(compressed, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil {
		t.Error("changed bytes were read")
	}
}

func TestCompressLeavesThePlainFileWhereItFails(t *testing.T) {
	path, _ := written(t, 10)
	if err := os.Mkdir(path+ZstdSuffix, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Compress(t.Context(), path); err == nil {
		t.Error("a folder was replaced")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 2 {
		t.Errorf("%d files are left: %v", len(files), files)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestScanStopsWhereItIsTold(t *testing.T) {
	path, _ := written(t, 10)
	stop := errors.New("enough")
	n := 0
	if _, err := ScanFile(path, func(*Op) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || n != 3 {
		t.Errorf("%d operations, %v", n, err)
	}
}

// TestCompressIsInterrupted: nothing is compressed once the context has ended, and the plain file stays alone.
func TestCompressIsInterrupted(t *testing.T) {
	path, content := written(t, 5_000)
	told := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(told)
	if _, err := Compress(ctx, path); !errors.Is(err, told) {
		t.Errorf("%v, want %v", err, told)
	}
	plain, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(plain, content) {
		t.Errorf("the plain file changed: %v", err)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("%d files are left: %v", len(all), err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := sameContent(ctx, f, f); !errors.Is(err, told) {
		t.Errorf("what was written is read back: %v", err)
	}
}
