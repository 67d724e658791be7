package shadow

import "sync"

// maxQueue limits the bytes that wait to be processed. Beyond it the server keeps them.
const maxQueue = 256 << 20

// queue holds the values that a server has sent, so that they do not stay in the server's memory,
// which counts towards its limit.
type queue struct {
	mu    sync.Mutex
	all   []value
	bytes int
	err   error         // the connection has ended
	more  chan struct{} // something was added, or the connection has ended
	room  chan struct{} // all was taken
}

func newQueue() *queue {
	return &queue{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// maxBatch limits the values that are added at once.
const maxBatch = 256

// fill adds the values of a reader until that fails or stop is closed. It adds values that have arrived
// together at once, because to wake the goroutine that takes them costs more than to decode them.
func (q *queue) fill(r *reader, stop <-chan struct{}) {
	for {
		var batch []value
		v, err := r.next()
		for err == nil {
			batch = append(batch, v)
			if r.buffer.Buffered() == 0 || len(batch) == maxBatch {
				break
			}
			v, err = r.next()
		}
		q.mu.Lock()
		q.all = append(q.all, batch...)
		for _, v := range batch {
			q.bytes += v.size()
		}
		q.err = err
		full := q.bytes > maxQueue
		q.mu.Unlock()
		notify(q.more)
		if err != nil {
			return
		}
		if full {
			select {
			case <-q.room:
			case <-stop:
			}
		}
	}
}

// take returns everything that waits. err says why nothing will follow.
func (q *queue) take() (all []value, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, q.all, q.bytes = q.all, nil, 0
	notify(q.room)
	return all, q.err
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// size returns approximately how many bytes of memory the value takes.
func (v value) size() int {
	n := len(v.text) + 96
	for _, e := range v.elems {
		n += e.size()
	}
	return n
}
