// Puts the page together.

class App {
  constructor(packed) {
    this.data = readData(packed);
    this.palette = new Palette();
    this.view = new View(this.data.end);
    this.lanes = new Lanes(this.data);
    this.coarse = new Coarse(this);
    this.range = new Range(this);
    this.hover = null;   // what the pointer is on: {kind, i}
    this.pinned = null;  // what the panel tells of
    this.current = -1;   // the violation that was gone to last
    this.cursor = null;  // a time that is marked
    this.stepper = null; // of the pinned violation
    this.lane = '';      // the lane that the keyboard chose
    this.shownAttempts = new Set();
    this.shownFaults = new Set();
    this.votesOf = [];
    this.longest = 0;
    /** @type {Promise<void> | undefined} */
    this.reading = undefined; // of the votes
    const {attempts} = this.data;
    for (let i = 0; i < attempts.n; i++) this.longest = Math.max(this.longest, attempts.to[i] - attempts.from[i]);

    const canvas = (id) => byId(id, HTMLCanvasElement);
    this.details = new Details(this);
    this.timeline = new Timeline(this, canvas('lanes'));
    this.charts = [this.timeline, new Overview(this, canvas('overview')), new Chart(this, canvas('rate'), plotRate)];
    if (queryAll('#latency').length) this.charts.push(new Chart(this, canvas('latency'), plotLatency)); // imported logs have no exact calls
    if (this.data.clocks.length) {
      byId('clocks-part').hidden = false;
      this.charts.push(new Chart(this, canvas('clocks'), plotClocks));
    }
    this.view.onChange(() => this.redraw());
    this.palette.dark.addEventListener('change', () => {
      this.palette.read();
      this.redraw();
    });
    this.tip = byId('tip');
    this.describeForAll();
    listenToKeys(this, this.timeline.canvas);
    this.listenToPointers(this.timeline.canvas);
    this.listenToButtons();
    this.listenToFilters();
    this.address = new Address(this);
    this.search = new Search(this);
  }

  redraw() {
    for (const c of this.charts) c.surface.redraw();
    this.timeline.above.redraw();
  }

  describeForAll() {
    const {data} = this, {attempts, leases} = data;
    this.timeline.canvas.setAttribute('aria-label', `Timeline of ${data.clients.length} clients and ${data.masters.length} masters over ${spanText(data.end)}: ` +
      `${countText(attempts.n)} acquires, ${countText(leases.n)} leases, ${data.faults.length} faults, ${countText(data.violations.length + data.marks.n)} violations`);
  }

  // withVotes calls f when the votes are read: at once, unless they stand apart.
  withVotes(f) {
    const {data} = this;
    if (data.votes) return f();
    this.reading ??= inflateVotes(data.attempts).then((votes) => { data.votes = votes; });
    this.reading.then(f);
  }

  // pick works out what is outlined: what is pointed at, else what is pinned.
  pick() {
    const {data} = this, item = this.hover || this.pinned;
    this.shownAttempts = new Set();
    this.shownFaults = new Set();
    this.votesOf = [];
    const attempt = (a) => { if (a >= 0) this.shownAttempts.add(a); };
    if (item) {
      if (item.kind === 'attempt') this.votesOf = [item.i];
      this.votesOf.forEach(attempt);
      if (item.kind === 'write') attempt(data.writes.attempt[item.i]);
      if (item.kind === 'stored') attempt(data.stored.attempt[item.i]);
      if (item.kind === 'fault') this.shownFaults.add(data.faults[item.i].id);
      if (item.kind === 'violation') {
        data.violations[item.i].attempts.forEach(attempt);
        this.votesOf = [...this.shownAttempts];
        data.violations[item.i].faults.forEach((id) => this.shownFaults.add(id));
      }
    }
    this.timeline.above.redraw();
  }

  pin(item) {
    this.pinned = item && {kind: item.kind, i: item.i};
    if (!item || item.kind !== 'range') this.range.clear();
    if (item && item.kind === 'violation') this.current = item.i;
    if (!item) this.setFocus(null);
    else if (item.kind === 'violation') this.setFocus(new Set(this.data.violations[item.i].clients));
    for (const b of queryAll('.violations [data-violation]')) b.classList.toggle('current', Number(b.dataset.violation) === this.current);
    this.hideTip();
    this.stepper = null;
    this.setCursor(null);
    this.details.show(item);
    if (item && (item.kind === 'attempt' || item.kind === 'violation')) this.withVotes(() => this.timeline.above.redraw());
    this.address.later();
    for (const row of queryAll('[data-fault]')) row.classList.toggle('picked', !!item && item.kind === 'fault' && Number(row.dataset.fault) === this.data.faults[item.i].id);
    this.timeline.redraw();
    this.pick();
  }

  setKey(key) {
    this.lanes.setKey(key);
    for (const select of queryAll('#key', HTMLSelectElement)) select.value = String(key);
    this.timeline.setHeight();
    this.redraw();
    if (this.address) this.address.later();
  }

  // filter shows one client or all (-1), and the faults of one kind or all ('').
  filter(client, faultKind) {
    this.lanes.setClient(client);
    this.lanes.setFaultKind(faultKind);
    for (const [id, value] of [['client', String(client)], ['fault-kind', faultKind]]) byId(id, HTMLSelectElement).value = value;
    this.timeline.setHeight();
    this.redraw();
    if (this.address) this.address.later();
  }

  showAllClients() {
    this.setFocus(null);
    this.filter(-1, this.lanes.faultKind);
  }

  // listenToFilters offers the clients and the kinds of faults, where there are several.
  listenToFilters() {
    const {clients, faults} = this.data;
    const offer = (id, all, values) => {
      const select = byId(id, HTMLSelectElement);
      const option = (value, text) => {
        const o = document.createElement('option');
        o.value = value;
        o.textContent = text;
        return o;
      };
      select.append(option(all, 'all'), ...values.map(([value, text]) => option(value, text)));
      if (select.parentElement) select.parentElement.hidden = values.length < 2;
      select.addEventListener('change', () => this.filter(+byId('client', HTMLSelectElement).value, byId('fault-kind', HTMLSelectElement).value));
    };
    offer('client', '-1', clients.map((c, i) => [String(i), c]));
    offer('fault-kind', '', [...new Set(faults.map((f) => f.name))].map((n) => [n, n]));
  }

  // setCursor marks a time in the timeline, and moves the window if it lies outside; null: none.
  setCursor(at) {
    this.cursor = at;
    const {view} = this;
    if (at !== null && (at < view.from || at > view.to)) view.glide(at - view.span / 2, at + view.span / 2);
    this.redraw();
  }

  // setFocus folds all clients but some; null: none.
  setFocus(clients) {
    this.lanes.setFocus(clients);
    this.timeline.setHeight();
    this.redraw();
  }

  // violation goes to a violation: the window then shows the leases at odds.
  violation(number) {
    const {violations, attempts, leases, faultByID} = this.data, n = violations.length;
    if (!n) return;
    const i = (number + n) % n, v = violations[i];
    if (!this.lanes.shows(v.key)) this.setKey(v.key);
    let from = v.at, to = v.until;
    for (const a of v.attempts) {
      const l = attempts.lease[a];
      from = Math.min(from, l >= 0 ? attempts.to[a] : attempts.from[a]); // trying can have taken long
      if (l >= 0) to = Math.max(to, Math.min(leases.until[l], v.until + (v.at - from) + this.data.ttl / 4));
    }
    for (const id of v.faults) { // what explains it belongs in sight, unless it began long before
      const f = faultByID.get(id);
      if (f && f.from < from && from - f.from < this.data.ttl / 2) from = f.from;
    }
    const margin = Math.max((to - from) * 0.1, 500);
    this.view.glide(from - margin, to + margin);
    this.pin({kind: 'violation', i});
    this.address.write(true);
  }

  // mark goes to a violation that is not explained.
  mark(i) {
    const {marks, ttl} = this.data, margin = Math.max(marks.until[i] - marks.at[i], ttl / 2, 500);
    if (!this.lanes.shows(marks.key[i])) this.setKey(marks.key[i]);
    this.view.glide(marks.at[i] - margin, marks.until[i] + margin);
    this.pin({kind: 'mark', i});
  }

  listenToButtons() {
    const on = (id, f) => {
      for (const e of queryAll('#' + id)) e.addEventListener('click', f);
    };
    on('fit', () => this.view.fit());
    on('in', () => this.view.zoom(0.6));
    on('out', () => this.view.zoom(1 / 0.6));
    on('violation', () => this.violation(this.current < 0 ? this.first() : this.current));
    on('next', () => this.violation(this.current + 1));
    on('previous', () => this.violation(this.current < 0 ? this.data.violations.length - 1 : this.current - 1));
    for (const b of queryAll('[data-violation]')) {
      b.addEventListener('click', (e) => {
        e.preventDefault(); // the address is that of the violation, not that of the section
        this.violation(Number(b.dataset.violation));
        byId('timeline').scrollIntoView({block: 'start'});
      });
    }
    for (const cell of queryAll('[data-line]')) cell.replaceChildren(this.data.lines.link(Number(cell.dataset.line), byId('evidence-lines')));
    printAsVectors(this);
    for (const list of queryAll('.violations')) this.oneStop(list);
    this.others = new Others(this);
    for (const select of queryAll('#key', HTMLSelectElement)) select.addEventListener('change', () => this.setKey(+select.value));
    on('copy', () => this.copy());
    for (const link of queryAll('a[href^="#"]:not([data-violation])', HTMLAnchorElement)) {
      link.addEventListener('click', (e) => { // the address stays that of what is shown
        const target = document.getElementById(link.hash.slice(1));
        if (!target) return;
        e.preventDefault();
        target.tabIndex = -1;
        target.focus({preventScroll: true});
        target.scrollIntoView({block: 'start'});
      });
    }
    for (const picture of queryAll('#save-picture', HTMLAnchorElement)) {
      picture.addEventListener('click', (e) => {
        e.preventDefault();
        savePicture(picture);
      });
    }
  }

  // oneStop makes the buttons of a list one stop of the tab key: the arrow keys, Home and End go through it.
  oneStop(list) {
    queryAll('button', HTMLButtonElement, list).forEach((b, i) => { b.tabIndex = i ? -1 : 0; });
    list.addEventListener('keydown', (e) => {
      const buttons = queryAll('button', HTMLButtonElement, list), i = buttons.indexOf(e.target);
      const to = {ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: buttons.length - 1}[e.key];
      if (to === undefined || i < 0) return;
      e.preventDefault();
      const next = buttons[Math.min(Math.max(to, 0), buttons.length - 1)];
      for (const other of buttons) other.tabIndex = other === next ? 0 : -1;
      next.focus();
    });
  }

  // first is the violation that the page explains.
  first() {
    const b = queryAll('#first button[data-violation]').at(0);
    return b ? Number(b.dataset.violation) : 0;
  }

  copy() {
    const command = byId('command'), done = () => { byId('copy').textContent = 'Copied'; };
    const select = () => getSelection()?.selectAllChildren(command); // then the reader can copy it
    if (navigator.clipboard) navigator.clipboard.writeText(command.textContent || '').then(done, select); else select();
  }

  listenToPointers(canvas) {
    const {view} = this, down = new Map();
    let moved = 0, elsewhere = -Infinity;

    // A wheel that is already scrolling the page goes on doing so when the
    // timeline comes under the pointer: nobody gets stuck in it.
    addEventListener('wheel', (e) => { if (e.target !== canvas) elsewhere = e.timeStamp; }, {passive: true});
    canvas.addEventListener('wheel', (e) => {
      if (e.timeStamp - elsewhere < 250 && !e.ctrlKey) {
        elsewhere = e.timeStamp;
        return;
      }
      const unit = e.deltaMode === 1 ? 16 : 1, s = this.timeline.scale();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) {
        e.preventDefault();
        return view.pan((e.deltaX || e.deltaY) * unit / s.perMicro);
      }
      if (view.whole && e.deltaY > 0) return;
      e.preventDefault();
      view.zoom(Math.exp(e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.002)), s.at(Math.max(e.offsetX, s.gutter)));
    }, {passive: false});

    canvas.addEventListener('pointerdown', (e) => {
      if (e.button) return;
      canvas.setPointerCapture(e.pointerId);
      if (this.range.grab(e)) return this.hideTip();
      down.set(e.pointerId, e.offsetX);
      if (down.size === 1) moved = 0;
      this.hideTip();
    });
    canvas.addEventListener('pointermove', (e) => {
      if (this.range.begun !== null) return this.range.drag(e);
      if (!down.has(e.pointerId)) return this.point(e);
      const s = this.timeline.scale(), before = down.get(e.pointerId);
      down.set(e.pointerId, e.offsetX);
      moved += Math.abs(e.offsetX - before);
      if (down.size === 1) {
        if (moved > 4) {
          canvas.classList.add('moving');
          view.pan((before - e.offsetX) / s.perMicro);
        }
      } else if (down.size === 2) {
        const [[, other]] = [...down].filter(([id]) => id !== e.pointerId);
        view.zoom(Math.min(Math.max(Math.abs(before - other) / Math.max(Math.abs(e.offsetX - other), 1), 0.5), 2), s.at(other));
      }
    });
    const up = (e) => {
      if (this.range.begun !== null) return this.range.drop(e);
      const one = down.size === 1 && down.delete(e.pointerId);
      down.delete(e.pointerId);
      canvas.classList.remove('moving');
      if (one && moved <= 4 && e.type === 'pointerup') this.click(e);
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      this.hideTip();
      this.pick();
    });
  }

  point(e) {
    const found = e.pointerType === 'touch' ? null : this.lanes.find(e.offsetX, e.offsetY, this.timeline.scale());
    const same = (a, b) => a === b || (a && b && a.kind === b.kind && a.i === b.i);
    this.timeline.canvas.classList.toggle('on', !!found);
    if (!same(found, this.hover)) {
      this.hover = found;
      if (found) this.details.tip(this.tip, found);
      this.pick();
    }
    this.tip.hidden = !found;
    if (!found) return;
    const width = this.timeline.canvas.clientWidth, box = this.tip;
    box.style.left = Math.min(Math.max(e.offsetX + 14, 4), Math.max(width - box.offsetWidth - 6, 4)) + 'px';
    const below = e.offsetY + 18;
    box.style.top = (below + box.offsetHeight > this.lanes.height ? Math.max(e.offsetY - box.offsetHeight - 12, 2) : below) + 'px';
  }

  hideTip() { this.tip.hidden = true; }

  click(e) {
    const found = this.lanes.find(e.offsetX, e.offsetY, this.timeline.scale());
    if (found && found.kind === 'rest') this.showAllClients(); else this.pin(found);
  }
}

let app;

// place says where on the screen a thing is drawn.
function place(kind, i) {
  const {data, lanes, timeline} = app, s = timeline.scale(), box = timeline.canvas.getBoundingClientRect();
  const point = (lane, at, part) => ({x: box.left + s.x(at), y: box.top + lane.y + lane.h * part});
  switch (kind) {
    case 'attempt': {
      const l = data.attempts.lease[i];
      return point(lanes.lane('client', data.attempts.client[i]), l < 0 ? (data.attempts.from[i] + data.attempts.to[i]) / 2 : (data.attempts.to[i] + data.leases.hold[l]) / 2, 0.4);
    }
    case 'write': return point(lanes.lane('client', data.writes.client[i]), data.writes.at[i], 0.8);
    case 'fault': return {x: box.left + s.x((data.faults[i].from + data.faults[i].to) / 2), y: box.top + lanes.lane('faults', 0).y + 8 + lanes.faultRow[i] * 17};
    case 'violation': return {x: box.left + s.x(data.violations[i].at), y: box.top + lanes.levelRow(data.violations[i].level) + 7};
    case 'rest': {
      const lane = lanes.lane('rest', 0);
      return lane && {x: box.left + 30, y: box.top + lane.y + lane.h / 2};
    }
    case 'mark': return {x: box.left + s.x(data.marks.at[i]), y: box.top + lanes.levelRow(data.marks.kinds[data.marks.kind[i]][0]) + 7};
    case 'stored': {
      const lane = lanes.lane('master', data.stored.master[i]), row = lanes.keyRow(lane, data.stored.key[i]);
      return {x: box.left + s.x((data.stored.from[i] + data.stored.to[i]) / 2), y: box.top + row.y + row.h / 2};
    }
  }
  return null;
}

withData((packed) => {
  app = new App(packed);
  if (app.address.read()) byId('timeline').scrollIntoView({block: 'start'});
  else if (app.data.violations.length) app.setKey(app.data.violations[app.first()].key);
  // So that the first zoom finds the drawing compiled, which matters where there is much to draw.
  const rehearse = (times) => times && requestIdleCallback(() => {
    app.timeline.surface.paint();
    rehearse(times - 1);
  });
  if ('requestIdleCallback' in window && app.data.attempts.n > 10_000) rehearse(4);
  // What tests and curious readers may look at; nothing here changes the page.
  Object.assign(window, {lockpick: Object.freeze({
    get view() { return {from: app.view.from, to: app.view.to, start: app.view.start, stop: app.view.stop}; },
    get hover() { return app.hover && {...app.hover}; },
    get pinned() { return app.pinned && {...app.pinned}; },
    get violation() { return app.current; },
    get key() { return app.lanes.key; },
    get range() { return app.range.some ? {from: app.range.from, to: app.range.to} : null; },
    get votesRead() { return !!app.data.votes; },
    get arrows() { return app.timeline.arrows; }, // that are drawn
    get cursor() { return app.cursor; },
    get lanes() { return app.lanes.list.map((l) => l.kind + l.i); },
    get milliseconds() { return app.timeline.surface.took; }, // that the last drawing of the lanes took
    get ready() { return app.timeline.ready; }, // ms after which the lanes were drawn first
    get counted() { return app.timeline.counted || 0; }, // violations in the window
    get found() { return app.search.found.length; },
    get latencies() { return app.charts.find((c) => c.plot === plotLatency).plotted; },
    get drawn() { return app.timeline.drawn || 0; },
    get counts() {
      const d = app.data;
      return {clients: d.clients.length, masters: d.masters.length, keys: d.keys.length, attempts: d.attempts.n, leases: d.leases.n, votes: d.attempts.vote[d.attempts.n], stored: d.stored.n, writes: d.writes.n, faults: d.faults.length, violations: d.violations.length, marks: d.marks.n};
    },
    place,
  })});
});
