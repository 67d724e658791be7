package history

import (
	"runtime"
	"sync"
)

// blockLines is the number of lines in a block. Decoding takes most of the time of reading a history; a block takes
// long enough that handing it over costs nothing beside it, and its operations fit into a processor's cache.
const blockLines = 256

// block is a part of a history. One goroutine splits the history into blocks, several decode them, and the caller's
// takes them in order.
type block struct {
	text    []byte
	ends    []int // where each line ends in text
	last    bool  // the last line has no newline
	cut     bool  // the compressed file was cut short
	err     error // why no line follows this block; nil: more follow
	ops     [blockLines]Op
	values  [blockLines]Value
	unknown map[int][]string // names of unknown fields, by line
	whole   int              // number of lines that were decoded: those before the first with an error
	torn    bool             // the end of the line after these is missing
	bad     error            // the error of the line after these
	decoded chan struct{}    // has a value when the block is decoded
}

// read fills the block with the next lines.
func (b *block) read(from *lines) {
	b.text, b.ends = b.text[:0], b.ends[:0]
	for len(b.ends) < blockLines && b.err == nil {
		line, last, err := from.next()
		if b.err = err; err == nil {
			b.text = append(b.text, line...)
			b.ends = append(b.ends, len(b.text))
			b.last = last
		}
	}
	b.cut = from.cut
}

// decode parses the block's lines up to the first that is not an operation.
func (b *block) decode(d *decoder) {
	clear(b.unknown)
	b.whole, b.torn, b.bad = 0, false, nil
	from := 0
	for i, to := range b.ends {
		d.again = &b.values[i]
		b.torn, b.bad = d.decode(b.text[from:to], b.last && i == len(b.ends)-1, &b.ops[i])
		if b.bad != nil {
			break
		}
		if len(d.unknownFields) > 0 {
			if b.unknown == nil {
				b.unknown = map[int][]string{}
			}
			b.unknown[i] = append([]string(nil), d.unknownFields...)
		}
		from = to
		b.whole++
	}
	b.decoded <- struct{}{}
}

// scan reads all operations and calls each with them, in order, while other goroutines decode the lines that follow. It
// returns io.EOF at the end, or the first error.
func (r *Reader) scan(each func(*Op) error) error {
	decoders := runtime.GOMAXPROCS(0)
	blocks := 2*decoders + 2
	free, undecoded, inOrder := make(chan *block, blocks), make(chan *block, blocks), make(chan *block, blocks)
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	for range blocks {
		free <- &block{decoded: make(chan struct{}, 1)}
	}
	others.Go(func() {
		defer close(undecoded)
		for {
			select {
			case <-stop:
				return
			case b := <-free:
				b.read(&r.lines)
				over := b.err != nil // as soon as it is handed over, it is its receiver's
				undecoded <- b
				inOrder <- b
				if over {
					return
				}
			}
		}
	})
	for range decoders {
		others.Go(func() {
			var d decoder
			for b := range undecoded {
				b.decode(&d)
			}
		})
	}
	for {
		b := <-inOrder
		<-b.decoded
		for i := range b.whole {
			r.line++
			if err := r.accept(&b.ops[i], nil, false, b.unknown[i]); err != nil {
				return err
			}
			if err := each(&b.ops[i]); err != nil {
				return err
			}
		}
		if b.bad != nil || b.err != nil {
			r.line++
			r.torn = r.torn || b.cut
			if b.bad != nil {
				return r.accept(nil, b.bad, b.torn, nil)
			}
			return r.accept(nil, b.err, false, nil)
		}
		free <- b
	}
}
