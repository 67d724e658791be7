// What is picked: pointed at, pinned, or part of the pinned violation, and the time of the step that is shown.

Timeline.prototype.drawPicked = function (ctx, width, height) {
  const s = this.scale(width);
  this.ctx = ctx;
  this.clipped(s, height, () => {
    this.pickedFaults(s);
    this.pickedMark(s);
    this.picked(s);
    this.app.range.draw(this, s, height);
    this.cursor(s, height);
  });
};

// pickedFaults draws faults, and what they act on, once more, and so stronger.
Timeline.prototype.pickedFaults = function (s) {
  const {data, lanes, palette} = this.app, ctx = this.ctx, row = lanes.lane('faults', 0);
  if (!row) return;
  data.faults.forEach((f, i) => {
    if (!this.app.shownFaults.has(f.id) || !lanes.showsFault(f)) return;
    ctx.globalAlpha = 0.15;
    for (const lane of lanes.list) {
      if ((lane.kind === 'client' || lane.kind === 'master') && lanes.hits(f, lane)) this.box(s, f.from, f.to, lane.y + 1, lane.h - 1, palette.fault(f), 2);
    }
    ctx.globalAlpha = 1;
    this.fault(s, row, i, 0.36);
    if (this.isPicked('fault', i)) this.frame(s, f.from, f.to, row.y + 3 + lanes.faultRow[i] * 17, 14, palette.ink, 1.5);
  });
};

Timeline.prototype.pickedMark = function (s) {
  const {data, lanes, palette, hover, pinned} = this.app, {marks} = data;
  for (const item of [hover, pinned]) {
    if (!item || item.kind !== 'mark' || !lanes.shows(marks.key[item.i])) continue;
    this.frame(s, marks.at[item.i], marks.until[item.i], lanes.levelRow(marks.kinds[marks.kind[item.i]][0]) - 1, 15, palette.ink, 1.5);
  }
};

Timeline.prototype.isPicked = function (kind, i) {
  const {hover, pinned} = this.app;
  return (hover && hover.kind === kind && hover.i === i) || (pinned && pinned.kind === kind && pinned.i === i);
};

// picked outlines the acquires that are pointed at, pinned or in the pinned
// violation, wherever their tokens are, and draws their votes.
Timeline.prototype.picked = function (s) {
  const {data, lanes, palette} = this.app, {attempts, leases, stored} = data;
  for (const a of this.app.shownAttempts) {
    const lane = lanes.lane('client', attempts.client[a]);
    if (!lane || !lanes.shows(attempts.key[a])) continue;
    const l = attempts.lease[a], until = l >= 0 ? Math.max(leases.until[l], attempts.to[a]) : attempts.to[a];
    this.frame(s, l >= 0 ? attempts.to[a] : attempts.from[a], until, lane.y + Math.round(lane.h * 0.23) - 1, Math.round(lane.h * 0.43) + 2, palette.ink, 1.5);
    data.masters.forEach((_, m) => {
      const order = lanes.stored[m], master = lanes.lane('master', m);
      for (let p = order.last(attempts.from[a] - 1), last = order.last(attempts.reach[a]); p < last; p++) {
        const i = order.items[p];
        if (stored.attempt[i] !== a || stored.token[i]) continue;
        const row = lanes.keyRow(master, stored.key[i]);
        this.frame(s, stored.from[i], stored.to[i], row.y - 1, row.h + 2, palette.ink, 1.5);
      }
    });
  }
  this.arrows = 0;
  if (data.votes) for (const a of this.app.votesOf) if (lanes.shows(attempts.key[a])) this.votes(s, a);
  const {hover} = this.app;
  if (hover && hover.kind === 'write') {
    const lane = lanes.lane('client', data.writes.client[hover.i]);
    if (lane) this.frame(s, data.writes.at[hover.i] - 4 / s.perMicro, data.writes.at[hover.i] + 9 / s.perMicro, lane.y + lane.h * 0.68, lane.h * 0.3, palette.ink, 1.5);
  }
};

// votes draws each command of an acquire's last try as a line from its client, when it was
// sent, to its master, when the reply came.
Timeline.prototype.votes = function (s, a) {
  const {data, lanes, palette} = this.app, {attempts, votes} = data, ctx = this.ctx;
  const client = lanes.lane('client', attempts.client[a]);
  if (!client) return; // it is folded
  for (let i = attempts.vote[a]; i < attempts.vote[a + 1]; i++) {
    if (votes.tried[i]) continue; // an earlier try
    const master = votes.master[i] >= 0 && lanes.lane('master', votes.master[i]);
    if (!master) continue;
    const reply = votes.code[i] % 3, colour = reply === 0 ? palette.holds : reply === 1 ? palette.soft : palette.unknown;
    const x0 = s.x(votes.at[i] - votes.took[i]), x1 = s.x(votes.at[i]), y1 = master.y + master.h - 4;
    if (Math.max(x0, x1) < s.gutter || Math.min(x0, x1) > s.width) continue;
    this.arrows++;
    ctx.strokeStyle = colour;
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = 1;
    ctx.setLineDash(reply === 2 ? [3, 3] : []);
    ctx.beginPath();
    ctx.moveTo(x0, client.y + 6);
    ctx.lineTo(x1, y1);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.arc(x1, y1, 3.2, 0, 7);
    ctx.fillStyle = reply === 0 ? colour : palette.panel;
    ctx.fill();
    ctx.lineWidth = 1.5;
    ctx.stroke();
  }
};

// cursor marks the time of the step that is shown.
Timeline.prototype.cursor = function (s, height) {
  const {cursor, palette} = this.app, ctx = this.ctx;
  if (cursor === null || cursor < this.app.view.from || cursor > this.app.view.to) return;
  const x = Math.round(s.x(cursor)), text = exactText(cursor);
  ctx.fillStyle = palette.focus;
  ctx.fillRect(x - 1, 0, 2, height);
  ctx.font = `600 11px ${palette.sans}`;
  const wide = ctx.measureText(text).width + 8, left = Math.min(Math.max(x - wide / 2, s.gutter), s.width - wide);
  ctx.fillRect(left, 2, wide, 17);
  ctx.fillStyle = palette.panel;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  ctx.fillText(text, left + 4, 11);
};
