package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"

	"lockpick/internal/otherfile"
	"lockpick/internal/wholefile"
)

// Suffixes that the names of compressed histories have after the plain name.
const (
	ZstdSuffix = ".zst"
	GzipSuffix = ".gz"
)

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b}
)

// Find returns the file that holds a history: path itself, or path with the suffix of a
// compressed history. The error wraps os.ErrNotExist if there is none.
func Find(path string) (string, error) {
	var first error
	for _, suffix := range []string{"", ZstdSuffix, GzipSuffix} {
		_, err := os.Stat(path + suffix)
		if err == nil {
			return path + suffix, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", fmt.Errorf("history: %w", first)
}

// Open opens a history for reading: the file at path or, if there is none, a compressed file
// beside it (see Find). The content, not the name, determines whether it is decompressed.
func Open(path string) (io.ReadCloser, error) {
	found, err := Find(path)
	if err != nil {
		return nil, err
	}
	f, err := otherfile.Open(found)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	in, err := Decompress(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: history: %w", found, err)
	}
	return opened{in, func() error { return errors.Join(in.Close(), f.Close()) }}, nil
}

// opened is a reader whose Close closes the decompressor and the file.
type opened struct {
	io.Reader
	close func() error
}

func (o opened) Close() error { return o.close() }

// Decompress returns a reader of input that may be compressed with zstd or gzip, which it detects
// by the first bytes. Closing the returned reader does not close r.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, zstdMagic):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(128<<20), zstd.WithDecoderMaxWindow(32<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	case bytes.HasPrefix(start, gzipMagic):
		return gzip.NewReader(in)
	}
	return io.NopCloser(in), nil
}

// ReadFile reads the history in a file, which may be compressed (see Open).
func ReadFile(path string) (*History, error) {
	in, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	room := 0
	if info, err := os.Stat(path); err == nil {
		room = int(min(info.Size()/lineSize, maxRoom))
	}
	h, err := read(in, room)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// ScanFile scans the history in a file, which may be compressed (see Open and Scan).
func ScanFile(path string, each func(*Op) error) (*History, error) {
	in, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	h, err := Scan(in, each)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

const (
	lineSize = 190     // approximate length of an operation's line, in bytes
	maxRoom  = 1 << 22 // for how many operations ReadFile allocates memory in advance, at most
)

// Compress replaces the history at path by a compressed file, path with ZstdSuffix, and
// returns its name. It removes the plain file only after it has synced the compressed file to the
// disk, read it back and found it equal. If anything fails or ctx ends, the plain file stays unchanged.
func Compress(ctx context.Context, path string) (string, error) {
	compressed := path + ZstdSuffix
	if err := compress(ctx, path, compressed); err != nil {
		return "", fmt.Errorf("history: compress %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return "", fmt.Errorf("history: compress %s: %w", path, err)
	}
	return compressed, nil
}

func compress(ctx context.Context, from, to string) error {
	plain, err := otherfile.Open(from)
	if err != nil {
		return err
	}
	defer plain.Close()
	mode := fs.FileMode(0o644)
	if info, err := plain.Stat(); err == nil {
		mode = info.Mode().Perm()
	}
	return wholefile.Replace(to, mode, func(out *os.File) error {
		z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			return err
		}
		if _, err := io.Copy(z, &untilDone{ctx, plain}); err != nil {
			z.Close()
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := out.Sync(); err != nil {
			return err
		}
		return sameContent(ctx, plain, out)
	})
}

// untilDone is a reader that returns the cause of a context as soon as that ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// sameContent reads a compressed file back and compares it with the plain file.
func sameContent(ctx context.Context, plain, compressed *os.File) error {
	for _, f := range []*os.File{plain, compressed} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	z, err := zstd.NewReader(compressed, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.ReadFull(plain, a)
		m, problem := io.ReadFull(z, b)
		if !bytes.Equal(a[:n], b[:m]) || (err == nil) != (problem == nil) {
			return fmt.Errorf("what was written does not read back as it was (%w)", errors.Join(err, problem))
		}
		if err != nil {
			return nil
		}
	}
}
