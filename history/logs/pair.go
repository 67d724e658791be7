package logs

import (
	"errors"
	"sort"
	"time"
)

// Log is a log that was read: the holds of each lock in the order of time.
type Log struct {
	Problems []Problem // what is wrong with its lines
	Notes    []string  // how it was read
	Files    int
	Lines    int
	Events   int // number of different locks
	Refused  int // acquires
	Holds    int
	Hosts    int // that the log names
	Clients  int // that acquired
	Keys     int
	Extended int           // number of leases, each extension included
	Duration time.Duration // from the first event to the last

	Judged int // holds that certainly lasted for some time

	im         *Importer
	holds      events
	extensions []extension
	base       int64 // ns since 1970: time 0 of its histories
	unsure     [numDoubts]int
	ttl        time.Duration // that is typical
}

// Log combines the events into holds. The importer must not be used afterwards. The error says
// that the log contains nothing that can be judged, and which option may help.
func (im *Importer) Log() (*Log, error) {
	if err := im.ambiguous(); err != nil {
		return nil, err
	}
	l := &Log{im: im, Files: len(im.files), Lines: im.lines, Refused: im.failed}
	if im.lines > 0 {
		if err := im.unfound(); err != nil {
			return nil, err
		}
	}
	if im.events.n == 0 {
		return nil, im.nothing()
	}
	if err := im.unknownHosts(); err != nil {
		return nil, err
	}
	sort.Sort(sorted{&im.events, byToken})
	l.pair()
	l.Holds = l.holds.n
	if l.Holds == 0 {
		return nil, errors.New("the log has releases, but no acquisition: check --event and --map")
	}
	sort.Sort(sorted{&l.holds, byStart})
	l.settle()
	l.survey()
	l.ttl = l.typicalTTL()
	l.Extended = len(l.extensions)
	l.Problems = im.flaws.told(im.name)
	l.Notes = im.notes(l)
	return l, nil
}

// open is a hold without a release so far, while the events of its token are read.
type open struct {
	hold       event
	extensions []extension
	closed     bool
}

// pair turns the events of each token into holds, which replace them.
func (l *Log) pair() {
	es := &l.im.events
	p := pairing{Log: l, es: es}
	var before event
	for i := range es.n {
		e := *es.at(i)
		if i > 0 && (e.key != before.key || e.token != before.token) {
			p.emit(0, 0)
		}
		if i > 0 && same(&e, &before) {
			l.im.flaws.add(duplicate, e.place())
			continue
		}
		before = e
		l.Events++
		p.take(&e)
	}
	p.emit(0, 0)
	es.truncate(p.out)
	l.holds, l.im.events = *es, events{}
}

// pairing is the state while the events of one token are combined.
type pairing struct {
	*Log
	es    *events
	out   int     // how many holds have replaced events; not more than the events that were read
	group []*open // of the token
	limit int     // how long the group may become before a part of it is written
}

// take adds the next event of a token.
func (p *pairing) take(e *event) {
	f := &p.im.flaws
	switch e.kind {
	case acquired:
		if o := p.held(e); o != nil {
			f.add(reentrant, e.place())
			o.hold.flags |= again
			o.extend(e)
			return
		}
		p.group = append(p.group, &open{hold: *e, closed: e.flags&hasEnd != 0})
		if len(p.group) > max(p.limit, 4*maxClosed) {
			p.emit(maxOpen, maxClosed)
			p.limit = 2 * len(p.group)
		}
	case extended:
		if o := p.latest(e, true); o != nil {
			o.extend(e)
		} else {
			f.add(strayExtension, e.place())
		}
	case releasing, released:
		o, closed := p.latest(e, false), p.latest(e, true)
		switch {
		case o != nil:
			o.closed = true
			o.hold.end, o.hold.endFile, o.hold.endLine = e.at, e.file, e.line
			o.hold.flags |= hasEnd | endByEvent
			if e.kind == released {
				o.hold.flags |= endIsReturn
			}
		case closed != nil: // the return of a release, or the release of an inner acquisition
		case len(p.group) > 0:
			f.add(othersRelease, e.place())
		default:
			f.add(strayRelease, e.place())
		}
	}
}

// If the token is always the same, it may have any number of holds. This many of the latest
// ones are kept while its events are read.
const (
	maxOpen   = 1000
	maxClosed = 16
)

// emit writes the holds of a group, except for a number of the latest open and closed ones.
func (p *pairing) emit(open, closed int) {
	keep := len(p.group)
	for i := len(p.group) - 1; i >= 0; i-- {
		o := p.group[i]
		left := &open
		if o.closed {
			left = &closed
		}
		if *left > 0 {
			*left--
			keep--
			p.group[keep] = o
			continue
		}
		if len(o.extensions) > 0 {
			o.extensions[len(o.extensions)-1].last = true
			o.hold.more = int32(len(p.extensions) + 1)
			p.extensions = append(p.extensions, o.extensions...)
		}
		*p.es.at(p.out) = o.hold
		p.out++
	}
	p.group = append(p.group[:0], p.group[keep:]...)
}

// same reports whether two events are one event that was logged twice.
func same(a, b *event) bool {
	return a.at == b.at && a.end == b.end && a.until == b.until && a.token == b.token && a.key == b.key && a.who == b.who &&
		a.request == b.request && a.kind == b.kind && a.flags == b.flags
}

// latest returns the latest hold of the group that the event's client may have. Unless any is
// set, it must not be closed.
func (p *pairing) latest(e *event, any bool) *open {
	for i := len(p.group) - 1; i >= 0; i-- {
		if o := p.group[i]; (any || !o.closed) && p.sameClient(&o.hold, e) {
			return o
		}
	}
	return nil
}

// sameClient reports whether two events may be of one client: the log names the same client, or
// none for one of them.
func (l *Log) sameClient(a, b *event) bool {
	if a.who == b.who {
		return true
	}
	x, y := l.im.who[a.who], l.im.who[b.who]
	return (x.client == y.client || x.client == "" || y.client == "") && (x.host == y.host || x.host == "" || y.host == "")
}

// held returns the hold that the client of an acquisition may have already with the same token,
// and that has not ended by then.
func (p *pairing) held(e *event) *open {
	for i := len(p.group) - 1; i >= 0; i-- {
		o := p.group[i]
		if o.closed && o.hold.end <= e.at || !p.sameClient(&o.hold, e) {
			continue
		}
		until, known := o.hold.until, o.hold.flags&untilKnown != 0
		if n := len(o.extensions); n > 0 {
			until, known = o.extensions[n-1].until, o.extensions[n-1].flags&untilKnown != 0
		}
		if !known || until > e.at {
			return o
		}
	}
	return nil
}

// extend adds a grant to a hold.
func (o *open) extend(e *event) {
	o.extensions = append(o.extensions, extension{at: e.at, until: e.until, line: e.line, file: e.file, flags: e.flags})
}

// survey notes what the holds lack, and when the log begins.
func (l *Log) survey() {
	f := &l.im.flaws
	last := int64(0)
	for i := range l.holds.n {
		h := l.holds.at(i)
		if i == 0 || h.requested() < l.base {
			l.base = h.requested()
		}
		last = max(last, l.exact(h).to)
		until, known := l.until(h)
		if h.flags&hasEnd == 0 {
			f.add(noRelease, h.place())
		}
		switch {
		case known && until <= h.at:
			f.add(overOnArrival, h.place())
		case !known && !l.im.opt.NoTTL:
			f.add(noTTL, h.place())
		}
		if !known && h.flags&hasEnd == 0 {
			f.add(noEnd, h.place())
		}
		if _, why := l.certain(h); why != sure {
			l.unsure[why]++
		} else {
			l.Judged++
		}
	}
	l.Duration = time.Duration(last - l.base)
	hosts := map[string]bool{}
	for i := range l.im.who {
		if host := l.im.who[i].host; host != "" {
			hosts[host] = true
		}
	}
	l.Hosts, l.Keys = len(hosts), len(l.im.keys.list)
	clients := map[identity]bool{}
	for i := range l.holds.n {
		if id := l.im.who[l.holds.at(i).who].identity; id.client != "" {
			clients[id] = true
		} else {
			l.Clients++ // each hold is of a client of its own
		}
	}
	l.Clients += len(clients)
}

// grants yields a hold's extensions.
func (l *Log) grants(h *event) func(func(*extension) bool) {
	return func(yield func(*extension) bool) {
		if h.more == 0 {
			return
		}
		for i := int(h.more) - 1; ; i++ {
			if x := &l.extensions[i]; !yield(x) || x.last {
				return
			}
		}
	}
}
