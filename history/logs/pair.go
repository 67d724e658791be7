package logs

import (
	"errors"
	"sort"
	"time"
)

// Log is a log that was read: the holds of each lock in the order of time.
type Log struct {
	Problems []Problem // flaws of its lines
	Notes    []string  // how it was read
	Files    int
	Lines    int
	Events   int // number of events of locks, without duplicates
	Refused  int // number of failed acquires
	Holds    int
	Hosts    int // number of hosts that the log names
	Clients  int // number of clients that acquired
	Keys     int
	Extended int           // number of extensions
	Duration time.Duration // from the first event to the last

	Judged    int // number of holds that certainly lasted for some time
	Outlasted int // number of these whose critical section certainly lasted longer

	im         *Importer
	holds      events
	extensions []extension
	base       int64 // time 0 of its histories, in ns since 1970
	unsure     [numDoubts]int
	ttl        time.Duration // the typical TTL
}

// Log combines the events into holds. The caller must not use the importer afterwards. If nothing
// in the log can be judged, Log returns an error that says which option may help.
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
	l.assumeOneClock()
	l.survey()
	l.ttl = l.typicalTTL()
	l.Extended = len(l.extensions)
	l.Problems = im.flaws.problems(im.name)
	l.Notes = im.notes(l)
	return l, nil
}

// open is a hold while the events of its token are read.
type open struct {
	hold       event
	extensions []extension
	closed     bool
}

// pair turns the events of each token into holds, which replace the events.
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

// pairing is the state of pair.
type pairing struct {
	*Log
	es    *events
	out   int     // how many holds have replaced events; never more than the events read so far
	group []*open // the holds of the current token that are not written yet
	limit int     // the length of group at which a part of it is written
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
		case closed != nil: // ignore the return of a release, and the release of a nested acquisition
		case len(p.group) > 0:
			f.add(othersRelease, e.place())
		default:
			f.add(strayRelease, e.place())
		}
	}
}

// A token that is always the same may have any number of holds. These are the numbers of the latest
// holds without and with a release that are kept in memory while the token's events are read.
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

// same reports whether two events are duplicates of one event.
func same(a, b *event) bool {
	return a.at == b.at && a.end == b.end && a.until == b.until && a.token == b.token && a.key == b.key && a.who == b.who &&
		a.request == b.request && a.kind == b.kind && a.flags == b.flags
}

// latest returns the latest hold in the group that may belong to the event's client. Unless any is
// set, it skips holds that have a release.
func (p *pairing) latest(e *event, any bool) *open {
	for i := len(p.group) - 1; i >= 0; i-- {
		if o := p.group[i]; (any || !o.closed) && p.sameClient(&o.hold, e) {
			return o
		}
	}
	return nil
}

// sameClient reports whether two events may be of one client: the log names the same client and
// host for both, or none for one of them.
func (l *Log) sameClient(a, b *event) bool {
	if a.who == b.who {
		return true
	}
	x, y := l.im.who[a.who], l.im.who[b.who]
	return (x.client == y.client || x.client == "" || y.client == "") && (x.host == y.host || x.host == "" || y.host == "")
}

// held returns a hold with the same token that the client of an acquisition may still have at that
// time, or nil.
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

// survey counts the flaws of the holds and sets the log's statistics.
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
		f, why := l.certain(h)
		if why != sure {
			l.unsure[why]++
			continue
		}
		l.Judged++
		if known && f.left() > until+(until-f.to) { // by twice what is not known of the lease's end
			l.Outlasted++
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
			l.Clients++ // a hold without a client's name counts as a client
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
