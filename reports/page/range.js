// A range of time that a reader has selected: with Shift and the mouse, or the window that is shown. The
// panel counts what happened in it, of the key and the clients that are shown.

class Range {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.from = this.to = NaN;
    this.begun = null; // where the pointer went down
  }

  get some() { return this.to > this.from; }

  // grab begins a selection if Shift is held, and says whether it did.
  grab(e) {
    if (!e.shiftKey) return false;
    this.begun = e.offsetX;
    return true;
  }

  drag(e) {
    const s = this.app.timeline.scale(), inside = (x) => s.at(Math.max(x, s.gutter));
    this.from = inside(Math.min(this.begun, e.offsetX));
    this.to = inside(Math.max(this.begun, e.offsetX));
    this.app.timeline.above.redraw();
  }

  // drop ends the selection; one that is hardly wide is none.
  drop(e) {
    const wide = Math.abs(e.offsetX - this.begun) > 4;
    if (wide) this.drag(e);
    this.begun = null;
    if (wide) this.select(this.from, this.to); else this.app.pin(null);
  }

  select(from, to) {
    const {start, stop} = this.app.view;
    this.from = Math.max(from, start);
    this.to = Math.min(to, stop);
    this.app.pin(this.some ? {kind: 'range', i: 0} : null);
  }

  clear() { this.from = this.to = NaN; }

  draw(timeline, s, height) {
    const {ctx} = timeline, {palette} = this.app;
    if (!this.some) return;
    ctx.globalAlpha = 0.12;
    timeline.box(s, this.from, this.to, 20, height, palette.focus, 1);
    ctx.globalAlpha = 1;
    for (const at of [this.from, this.to]) timeline.box(s, at, at, 20, height, palette.focus, 1.5);
  }

  // count is what happened in the range.
  count() {
    const {app, from, to} = this, {data, lanes} = app, {attempts, leases, writes, marks, violations} = data;
    const n = {outcomes: [0, 0, 0], slowest: 0, held: 0, writes: 0, stale: 0, violations: 0, faults: new Map()};
    const in_ = (at) => at >= from && at <= to, shown = (client) => !!lanes.lane('client', client);
    data.clients.forEach((_, c) => {
      if (!shown(c)) return;
      const order = lanes.attempts[c];
      for (let p = order.first(from), last = order.last(to); p < last; p++) {
        const i = order.items[p], l = attempts.lease[i];
        if (!lanes.shows(attempts.key[i])) continue;
        if (attempts.back[i] && in_(attempts.to[i])) {
          n.outcomes[attempts.outcome[i]]++;
          n.slowest = Math.max(n.slowest, attempts.to[i] - attempts.from[i]);
        }
        if (l >= 0) n.held += Math.max(Math.min(leases.hold[l], to) - Math.max(attempts.to[i], from), 0);
      }
      const written = lanes.writes[c];
      for (let p = written.first(from), last = written.last(to); p < last; p++) {
        const i = written.items[p];
        if (writes.twin[i] || !lanes.shows(writes.key[i]) || !in_(writes.at[i])) continue;
        if (writes.effect[i] !== 2) n.writes++;
        if (writes.effect[i] === 1) n.stale++;
      }
    });
    for (const v of violations) if (lanes.shows(v.key) && v.at <= to && v.until >= from) n.violations++;
    for (let p = marks.order.first(from), last = marks.order.last(to); p < last; p++) {
      const i = marks.order.items[p];
      if (lanes.shows(marks.key[i]) && marks.until[i] >= from) n.violations++;
    }
    for (const f of data.faults) if (lanes.showsFault(f) && f.from <= to && f.to >= from) n.faults.set(f.name, (n.faults.get(f.name) || 0) + 1);
    return n;
  }

  describe() {
    const {app, from, to} = this, n = this.count(), [granted, refused, unknown] = n.outcomes;
    const lines = [
      ['From', exactText(from)], ['To', exactText(to)],
      ['Acquires', `${countText(granted)} granted, ${countText(refused)} refused` + (unknown ? `, ${countText(unknown)} unknown` : '')],
    ];
    if (granted + refused + unknown) lines.push(['Slowest', spanText(n.slowest)]);
    lines.push(['Leases held', `${spanText(n.held)} in all`]);
    lines.push(['Writes', countText(n.writes) + (n.stale ? `, ${countText(n.stale)} of them stale` : '')]);
    lines.push(['Violations', countText(n.violations)]);
    lines.push(['Faults', n.faults.size ? list([...n.faults].map(([name, count]) => `${name} ${countText(count)}`)) : 'none']);
    return {title: `${spanText(to - from)} selected`, lines, brief: 3, more: () => {
      const box = element('p', undefined, 'more'), zoom = element('button', 'Zoom to it'), copy = element('button', 'Copy link');
      zoom.type = copy.type = 'button';
      zoom.addEventListener('click', () => app.view.glide(from, to));
      copy.addEventListener('click', () => app.address.copy(copy));
      box.append(zoom, copy);
      return [box];
    }};
  }
}
