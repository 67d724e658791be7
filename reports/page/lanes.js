// Where things are: the lanes from top to bottom, and what lies under a point.

class Lanes {
  constructor(data) {
    const {attempts, stored, writes} = data;
    this.data = data;
    this.key = -1;
    this.focus = null; // the clients that are shown; null: all
    this.client = -1;  // the only one that is shown, unless some are in focus; -1: all
    this.faultKind = ''; // the only one that is shown; empty: all
    const from = (column) => (i) => column[i];
    this.attempts = orders(attempts.n, data.clients.length, from(attempts.client), from(attempts.from), from(attempts.reach));
    this.writes = orders(writes.n, data.clients.length, from(writes.client), from(writes.at), from(writes.at));
    this.stored = orders(stored.n, data.masters.length, from(stored.master), from(stored.from), from(stored.to));
    this.height = 0;
    this.folded = 0; // clients
    this.faultRows = 0;
    /** @type {string[]} */
    this.levels = []; // of violations: a row each
    this.placeFaults();
    this.list = this.layout();
  }

  // placeFaults stacks faults that overlap in time, and lists whom each one hits.
  placeFaults() {
    const ends = [];
    this.faultRow = this.data.faults.map((f) => {
      if (!this.showsFault(f)) return -1;
      let row = ends.findIndex((end) => end <= f.from);
      if (row < 0) row = ends.length < 4 ? ends.length : 3;
      ends[row] = Math.max(ends[row] || 0, f.to);
      return row;
    });
    this.faultRows = ends.length;
  }

  layout() {
    const many = this.data.clients.length > 40 ? 0.55 : this.data.clients.length > 16 ? 0.75 : 1;
    /** @type {{kind: string, i: number, y: number, h: number}[]} */
    const lanes = [];
    let y = 26;
    const add = (kind, i, h, gap = 0) => {
      y += gap;
      lanes.push({kind, i, y, h});
      y += h;
    };
    const {violations, marks} = this.data, levels = new Set(violations.filter((v) => this.shows(v.key)).map((v) => v.level));
    for (let i = 0; i < marks.n; i++) if (this.shows(marks.key[i])) levels.add(marks.kinds[marks.kind[i]][0]);
    this.levels = [...levels];
    this.levels.sort((a, b) => +(b[0] === 'L') - +(a[0] === 'L') || (a < b ? -1 : 1));
    if (this.levels.length) add('violations', 0, this.levels.length * 15 + 6);
    if (this.faultRows) add('faults', 0, this.faultRows * 17 + 4);
    const clients = [...this.data.clients.keys()].filter((i) => this.focus ? this.focus.has(i) : this.client < 0 || i === this.client);
    clients.forEach((i, n) => add('client', i, Math.round(44 * (this.focus || this.client >= 0 ? 1 : many)), n ? 0 : 4));
    this.folded = this.data.clients.length - clients.length;
    if (this.folded) add('rest', 0, 22);
    const tall = 34 + (this.key < 0 ? Math.min(Math.max(this.data.keys.length - 2, 0), 8) * 6 : 0);
    this.data.masters.forEach((_, i) => add('master', i, tall, i ? 0 : 10));
    this.height = y + 6;
    return lanes;
  }

  // setKey shows one key, or all (-1).
  setKey(key) {
    this.key = key;
    this.list = this.layout();
  }

  // setClient shows one client, or all (-1).
  setClient(client) {
    this.client = client;
    this.list = this.layout();
  }

  // setFaultKind shows the faults of one kind, or all ('').
  setFaultKind(kind) {
    this.faultKind = kind;
    this.placeFaults();
    this.list = this.layout();
  }

  showsFault(f) { return !this.faultKind || f.name === this.faultKind; }

  // setFocus shows some clients only, unless that folds hardly any; null: all.
  setFocus(clients) {
    this.focus = clients && this.data.clients.length - clients.size >= 3 ? clients : null;
    this.list = this.layout();
  }

  shows(key) { return this.key < 0 || key < 0 || key === this.key; }

  lane(kind, i) { return this.list.find((l) => l.kind === kind && l.i === i); }

  // need returns a lane that is shown for sure.
  need(kind, i) {
    const lane = this.lane(kind, i);
    if (!lane) throw new Error(`the timeline shows no lane ${kind} ${i}`);
    return lane;
  }

  at(y) { return this.list.find((l) => y >= l.y && y < l.y + l.h); }

  // ofLease says whether what a master stored is a lease, not a failed attempt.
  ofLease(i) {
    const {stored, attempts} = this.data, a = stored.attempt[i];
    return a >= 0 && attempts.lease[a] >= 0 && !stored.token[i];
  }

  // hits says whether a fault acts on a lane. One that names nobody acts on all.
  hits(fault, lane) {
    if (!fault.masters.length && !fault.clients.length) return true;
    return lane.kind === 'client' ? fault.clients.includes(lane.i) : lane.kind === 'master' && fault.masters.includes(lane.i);
  }

  // levelRow is where the violations of a level have their place.
  levelRow(level) { return this.need('violations', 0).y + 3 + this.levels.indexOf(level) * 15; }

  // keyRow is where in a master's lane a key has its place.
  keyRow(lane, key) {
    const top = lane.y + 16, h = lane.h - 19, n = this.key < 0 ? this.data.keys.length : 1;
    if (n < 2) return {y: top, h};
    const each = Math.max(h / n, 2), rows = Math.floor(h / each);
    return {y: top + (key % rows) * each, h: Math.max(each - 1, 1)};
  }

  // find says what is drawn at a point: {kind, i}, or null.
  find(x, y, scale) {
    const lane = this.at(y);
    if (!lane || x < scale.gutter) return null;
    const near = 4 / scale.perMicro, at = scale.at(x);
    switch (lane.kind) {
      case 'violations': {
        const level = this.levels[Math.floor((y - lane.y - 3) / 15)];
        const {violations, marks} = this.data, reach = 7 / scale.perMicro;
        return this.nearest('violation', violations.map((v, i) => ({i, from: v.at, to: v.until, shown: this.shows(v.key) && v.level === level})), at, reach) ||
          this.among('mark', marks.order, at, reach, (i) => ({i, from: marks.at[i], to: marks.until[i], shown: this.shows(marks.key[i]) && marks.kinds[marks.kind[i]][0] === level}));
      }
      case 'faults': {
        const row = Math.floor((y - lane.y - 2) / 17);
        return this.nearest('fault', this.data.faults.map((f, i) => ({i, from: f.from, to: f.to, shown: this.faultRow[i] === row})), at, near);
      }
      case 'rest': return {kind: 'rest', i: 0};
      case 'client': return this.findInClient(lane, at, y, near);
      case 'master': return this.findInMaster(lane, at, y, near);
    }
    return null;
  }

  findInClient(lane, at, y, near) {
    const {attempts, writes, pauses} = this.data;
    const bottom = y > lane.y + lane.h * 0.64;
    const write = () => this.among('write', this.writes[lane.i], at, near, (i) => ({i, from: writes.at[i], to: writes.at[i], shown: this.shows(writes.key[i])}));
    const attempt = () => this.among('attempt', this.attempts[lane.i], at, near, (i) => ({i, from: attempts.from[i], to: attempts.reach[i], shown: this.shows(attempts.key[i])}));
    const pause = () => this.nearest('pause', pauses.map((p, i) => ({i, from: p.from, to: p.to, shown: p.client === lane.i})), at, near);
    return (bottom && write()) || attempt() || pause() || write();
  }

  findInMaster(lane, at, y, near) {
    const {stored, states} = this.data;
    if (y < lane.y + 15) {
      const state = this.nearest('state', states.map((s, i) => ({i, from: s.from, to: s.to, shown: s.master === lane.i})), at, near);
      return state || this.nearest('fault', this.data.faults.map((f, i) => ({i, from: f.from, to: f.to, shown: f.masters.includes(lane.i)})), at, near);
    }
    return this.among('stored', this.stored[lane.i], at, near, (i) => {
      const row = this.keyRow(lane, stored.key[i]);
      return {i, from: stored.from[i], to: stored.to[i], shown: this.shows(stored.key[i]) && y >= row.y - 1 && y <= row.y + row.h + 1};
    });
  }

  among(kind, order, at, near, item) {
    const found = [];
    for (let p = order.first(at - near), last = order.last(at + near); p < last; p++) found.push(item(order.items[p]));
    return this.nearest(kind, found, at, near);
  }

  // nearest prefers what contains the time, and of these the shortest. It counts
  // how many others are as close, so that a tip can say that there is more.
  nearest(kind, items, at, near) {
    let best = null, bestScore = Infinity, others = -1;
    for (const it of items) {
      if (!it.shown || at < it.from - near || at > it.to + near) continue;
      others++;
      const outside = Math.max(it.from - at, at - it.to, 0);
      const score = outside * 1e6 + (it.to - it.from);
      if (score < bestScore) { bestScore = score; best = it; }
    }
    return best && {kind, i: best.i, others};
  }
}
