package remote

import (
	"encoding/json"
	"fmt"
	"time"

	"lockpick/history"
)

// checkShared makes two threads of one process use two lock objects for one key: while the second thread
// waits for the lock, the first releases it.
func (k *kit) checkShared() error {
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	key := k.key()
	const patience = 5 * time.Second
	acquire := func(id int64, thread, object string) Request {
		return Request{Op: opAcquire, ID: id, Thread: thread, Object: object, Key: key, Within: patience, WithinMS: inMS(patience)}
	}
	release := func(id int64, thread, object string, granted Message) Request {
		return Request{Op: opRelease, ID: id, Thread: thread, Object: object, Key: key, Token: granted.Value.Token}
	}
	first, err := t.threads(patience, acquire(1, "c1", "o1"))
	if err != nil {
		return err
	}
	if err := t.write(acquire(2, "c2", "o2")); err != nil {
		return err
	}
	second, err := t.threads(patience, release(3, "c1", "o1", first[1]), acquire(2, "c2", "o2"))
	if err != nil {
		return fmt.Errorf("c1 releases the lock while another thread waits for it, and the requests of threads are to be carried out at the same time: %w", err)
	}
	_, err = t.threads(conformTTL, release(4, "c2", "o2", second[2]))
	return err
}

// write sends a request without waiting for its outcome.
func (t *talk) write(r Request) error {
	t.asked = r
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := t.p.send(append(b, '\n')); err != nil {
		return fmt.Errorf("%s has ended, and should have taken %s: %s", t.name, r.Op, t.p.stderr.lastLines(3))
	}
	return nil
}

// threads sends the first request, and waits for the outcomes of all, in any order. Each has to be "ok", to
// repeat the number of its request, and to name the token of a grant. The outcomes are returned by number.
func (t *talk) threads(within time.Duration, first Request, sent ...Request) (map[int64]Message, error) {
	if err := t.write(first); err != nil {
		return nil, err
	}
	open, answers := map[int64]Request{first.ID: first}, map[int64]Message{}
	for _, r := range sent {
		open[r.ID] = r
	}
	for len(open) > 0 {
		m, err := t.outcome(within + answerWithin)
		if err != nil {
			return nil, err
		}
		r, known := open[m.ID]
		if !known {
			return nil, t.wrong("id", fmt.Sprint(m.ID), "that of a request without an answer")
		}
		delete(open, m.ID)
		t.asked = r
		if m.Type != string(history.OK) {
			return nil, t.wrong("type", fmt.Sprintf("%q (%s)", m.Type, m.Error), `"ok"`)
		}
		if r.Op == opAcquire && m.Value.Token == "" {
			return nil, t.wrong("token", `""`, "the token that is stored on the masters")
		}
		answers[m.ID] = m
	}
	return answers, nil
}
