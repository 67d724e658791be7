package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/history/logs"
)

// judgeLogs reads and judges logs. It returns as soon as the context ends, even while it waits for standard
// input or sorts ten million lines.
func judgeLogs(ctx context.Context, o logs.Options, files []string) (*history.History, *judge.Result, error) {
	show := newLogProgress(files)
	defer show.done()
	return judge.Interruptible(ctx, func() (*history.History, *judge.Result, error) { return readAndJudge(o, files, show) })
}

func readAndJudge(o logs.Options, files []string, show *logProgress) (*history.History, *judge.Result, error) {
	im, err := logs.New(o)
	if err != nil {
		return nil, nil, usageError{err}
	}
	for _, file := range files {
		if err := readLog(im, file, show); err != nil {
			return nil, nil, usageError{err}
		}
	}
	show.next("sorting and judging the events")
	l, err := im.Log()
	if err != nil {
		return nil, nil, usageError{err}
	}
	h, r, err := judge.Logs(l)
	if err != nil {
		return nil, nil, orUsage(err)
	}
	return h, r, nil
}

// openLog opens a file, which may be compressed; - is the standard input. name is the file's name without its folder.
func openLog(file string, show *logProgress) (plain io.ReadCloser, name string, err error) {
	f := os.Stdin
	name = "stdin"
	if file != "-" {
		if f, err = os.Open(file); err != nil {
			return nil, "", err
		}
		name = filepath.Base(file)
	}
	plain, err = history.Decompress(&shownReader{f, name, show})
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, closers{plain, f}}, name, nil
}

// closers close one after the other.
type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, x := range c {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// readLog reads a file into the importer.
func readLog(im *logs.Importer, file string, show *logProgress) error {
	plain, name, err := openLog(file, show)
	if err != nil {
		return err
	}
	defer plain.Close()
	err = im.Read(name, plain)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the compressed data ends too early: the file was cut off, or is still being written", name)
	}
	return err
}

// logProgress shows how much of the logs was read.
type logProgress struct {
	*progress
	read, all int64 // bytes of the files before decompression
	at, began time.Time
}

func newLogProgress(files []string) *logProgress {
	p := &logProgress{progress: newProgress(), at: time.Now(), began: time.Now()}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			p.all += info.Size()
		}
	}
	return p
}

// shownReader adds the bytes read to the progress, and shows it at most twice a second.
type shownReader struct {
	io.Reader
	name string
	show *logProgress
}

func (r *shownReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	p := r.show
	p.read += int64(n)
	const step = 500 * time.Millisecond
	if now := time.Now(); now.Sub(p.at) >= step {
		p.at = now
		total := ""
		if p.all >= p.read {
			total = fmt.Sprintf(" of %.0f", float64(p.all)/1e6)
		}
		p.stage(fmt.Sprintf("reading %s: %.0f%s MB", r.name, float64(p.read)/1e6, total))
	}
	return n, err
}

// next shows the next stage at once, if the earlier stages took long enough to be shown.
func (p *logProgress) next(text string) {
	p.mu.Lock()
	if time.Since(p.began) >= every {
		p.last = time.Time{}
	}
	p.mu.Unlock()
	p.stage(text)
}

func (p *logProgress) stage(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.showLocked(text, p.read, max(p.all, p.read))
}
