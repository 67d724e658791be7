// How the timeline draws violations.

// violations marks each one in its level's row and on the lanes of its clients.
// The current one is drawn last, with lines down through all lanes.
Timeline.prototype.violations = function (s, height) {
  this.marks(s);
  const {data, lanes, palette, view, pinned} = this.app, ctx = this.ctx, current = pinned && pinned.kind === 'violation' ? pinned.i : -1;
  const order = data.violations.map((_, i) => i).filter((i) => i !== current);
  if (current >= 0) order.push(current);
  for (const i of order) {
    const v = data.violations[i], own = i === current;
    if (!lanes.shows(v.key) || v.until < view.from || v.at > view.to) continue;
    const row = lanes.levelRow(v.level), wide = Math.max(s.x(v.until) - s.x(v.at), 2);
    for (const c of v.clients) {
      const lane = lanes.lane('client', c);
      if (!lane) continue;
      ctx.globalAlpha = own ? 1 : 0.6; // around the leases, which keep their colours
      this.box(s, v.at, v.until, lane.y + 1, 2, palette.violated, 2);
      this.box(s, v.at, v.until, lane.y + lane.h - 1, 2, palette.violated, 2);
      if (own) {
        this.box(s, v.at, v.at, lane.y + 1, lane.h - 1, palette.violated, 2);
        this.box(s, v.until, v.until, lane.y + 1, lane.h, palette.violated, 2);
      }
    }
    if (own) {
      ctx.globalAlpha = 0.75;
      this.box(s, v.at, v.at, row + 13, height, palette.violated, 1);
      if (wide > 4) this.box(s, v.until, v.until, row + 13, height, palette.violated, 1);
    }
    ctx.globalAlpha = own ? 1 : 0.72;
    this.box(s, v.at, v.until, row, 13, palette.violated, 5);
    ctx.globalAlpha = 1;
    if (own) this.frame(s, v.at, v.until, row - 1, 15, palette.ink, 1.5);
    this.label(s, v.level, v.at, v.until, row + 10.5, palette.panel, 10.5, '600');
  }
  this.countViolations(s);
};

// marks draws the violations that are not explained: those of a level in its row, and on the
// lanes of their clients. What shares pixels is drawn once.
Timeline.prototype.marks = function (s) {
  const {data, lanes, palette, view} = this.app, {marks} = data, ctx = this.ctx, rows = new Map(), drawn = new Map();
  const span = (where, y, h, i, least) => { // up to where this row or lane is drawn already
    const a = s.x(marks.at[i]), b = Math.max(s.x(marks.until[i]), a + least), from = Math.max(a, drawn.get(where) ?? -Infinity);
    if (b <= from) return;
    drawn.set(where, b);
    this.box(s, s.at(from), s.at(b), y, h, palette.violated, 0);
  };
  for (const level of lanes.levels) rows.set(level, lanes.levelRow(level));
  for (let p = marks.order.first(view.from), last = marks.order.last(view.to); p < last; p++) {
    const i = marks.order.items[p], level = marks.kinds[marks.kind[i]][0];
    if (!lanes.shows(marks.key[i]) || marks.until[i] < view.from) continue;
    ctx.globalAlpha = 0.72;
    span(level, rows.get(level), 13, i, 5);
    for (const c of marks.clients(i)) {
      const lane = lanes.lane('client', c);
      if (lane) span('c' + c, lane.y + 1, 2, i, 2);
    }
    ctx.globalAlpha = 1;
  }
};

// countViolations writes how many violations there are where they are too close to be told apart.
Timeline.prototype.countViolations = function (s) {
  const {data, lanes, palette, view} = this.app, {marks, violations} = data, ctx = this.ctx, wide = 44;
  const bins = new Map(lanes.levels.map((level) => [level, new Map()]));
  const add = (level, key, at) => {
    if (!lanes.shows(key) || at < view.from || at > view.to) return;
    const bin = Math.floor((s.x(at) - s.gutter) / wide), of = bins.get(level);
    of?.set(bin, (of.get(bin) || 0) + 1);
  };
  for (const v of violations) add(v.level, v.key, v.at);
  for (let p = marks.order.first(view.from), last = marks.order.last(view.to); p < last; p++) {
    const i = marks.order.items[p];
    add(marks.kinds[marks.kind[i]][0], marks.key[i], marks.at[i]);
  }
  this.counted = 0;
  ctx.font = `600 10.5px ${palette.sans}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'alphabetic';
  ctx.lineWidth = 3;
  ctx.strokeStyle = palette.bg;
  ctx.fillStyle = palette.ink;
  for (const [level, of] of bins) {
    for (const [bin, n] of of) {
      this.counted += n;
      if (n < 5) continue;
      const x = s.gutter + (bin + 0.5) * wide, y = lanes.levelRow(level) + 10.5;
      ctx.strokeText(countText(n), x, y);
      ctx.fillText(countText(n), x, y);
    }
  }
  ctx.textAlign = 'left';
};
