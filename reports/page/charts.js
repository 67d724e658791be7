// Latency and rate over time, in the window of the timeline and with its faults.

class Chart {
  /** @param {App} app */
  constructor(app, canvas, plot) {
    this.app = app;
    this.canvas = canvas;
    this.plot = plot;
    this.surface = new Surface(canvas, (ctx, w, h) => this.draw(ctx, w, h), {patient: true});
  }

  draw(ctx, width, height) {
    const {view, data, palette} = this.app, s = new Scale(view, gutterOf(width), width);
    const area = {top: 10, floor: height - 20};
    ctx.save();
    ctx.beginPath();
    ctx.rect(s.gutter, 0, width - s.gutter, height);
    ctx.clip();
    for (const f of data.faults) {
      if (f.to < view.from || f.from > view.to || !this.app.lanes.showsFault(f)) continue;
      ctx.globalAlpha = 0.14;
      ctx.fillStyle = palette.fault(f);
      ctx.fillRect(s.x(f.from), area.top, Math.max(s.x(f.to) - s.x(f.from), 2), area.floor - area.top);
    }
    ctx.globalAlpha = 1;
    this.times(ctx, s, area);
    ctx.restore();
    this.plot(ctx, s, area, this);
    ctx.fillStyle = palette.line;
    ctx.fillRect(s.gutter - 1, 0, 1, area.floor);
  }

  times(ctx, s, area) {
    const {view, palette} = this.app, step = s.step(110);
    ctx.font = `11px ${palette.sans}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'alphabetic';
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const x = Math.round(s.x(at)), text = momentText(at || 0, step);
      ctx.fillStyle = palette.line;
      ctx.fillRect(x, area.top, 1, area.floor - area.top);
      ctx.fillStyle = palette.soft;
      const half = ctx.measureText(text).width / 2;
      if (x - half > s.gutter && x + half < s.width) ctx.fillText(text, x, area.floor + 14);
    }
    ctx.fillStyle = palette.line;
    ctx.fillRect(s.gutter, area.floor, s.width, 1);
  }

  // mark writes a value of the vertical axis, with a line across if `line`.
  mark(ctx, s, y, text, line = true) {
    const {palette} = this.app;
    if (line) {
      ctx.fillStyle = palette.line;
      ctx.fillRect(s.gutter, Math.round(y), s.width, 1);
    }
    ctx.font = `11px ${palette.sans}`;
    ctx.fillStyle = palette.soft;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    ctx.fillText(text, s.gutter - 7, y);
  }
}

// inWindow calls f for the acquires that returned within the window, in the order
// of their beginning.
function inWindow(app, f) {
  const {data, view, lanes} = app, {attempts} = data;
  let lo = 0, hi = attempts.n;
  const early = view.from - app.longest;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (attempts.from[mid] < early) lo = mid + 1; else hi = mid;
  }
  for (let i = lo; i < attempts.n && attempts.from[i] <= view.to; i++) {
    if (attempts.back[i] && attempts.to[i] >= view.from && attempts.to[i] <= view.to && lanes.shows(attempts.key[i])) f(i);
  }
}

// fewest is how many acquires a stretch of time needs before p50 and p99 say anything of it.
const fewest = 20;

// latency: each acquire a mark for its outcome while there are few, and p50 and p99 of what was
// granted in the same stretch of time, where that is enough.
function plotLatency(ctx, s, area, chart) {
  const {app} = chart, {attempts} = app.data, {palette} = app, wide = 14, buckets = [];
  let most = 0, least = Infinity, n = 0;
  chart.plotted = {outcomes: [0, 0, 0], quantiles: 0};
  inWindow(app, (i) => {
    const took = Math.max(attempts.to[i] - attempts.from[i], 1), b = Math.floor((s.x(attempts.to[i]) - s.gutter) / wide);
    if (attempts.outcome[i] === 0) (buckets[b] = buckets[b] || []).push(took);
    most = Math.max(most, took);
    least = Math.min(least, took);
    n++;
  });
  if (!n) {
    chart.mark(ctx, s, (area.top + area.floor) / 2, '', false);
    ctx.textAlign = 'center';
    ctx.fillText('no acquire returned in this window', (s.gutter + s.width) / 2, (area.top + area.floor) / 2);
    return;
  }
  const lo = Math.floor(Math.log10(least)), hi = Math.max(Math.ceil(Math.log10(most)), lo + 1);
  const y = (took) => area.floor - (Math.log10(took) - lo) / (hi - lo) * (area.floor - area.top);
  for (let e = lo; e <= hi; e++) chart.mark(ctx, s, y(Math.pow(10, e)), spanText(Math.pow(10, e)));
  ctx.save();
  ctx.beginPath();
  ctx.rect(s.gutter, 0, s.width, area.floor);
  ctx.clip();
  const middle = [];
  ctx.fillStyle = palette.focus;
  ctx.globalAlpha = 0.22;
  buckets.forEach((list, b) => {
    if (list.length < fewest) return;
    list.sort((x, y) => x - y);
    const p50 = list[Math.floor((list.length - 1) * 0.5)], p99 = list[Math.ceil((list.length - 1) * 0.99)], x = s.gutter + b * wide;
    middle.push([x + wide / 2, y(p50)]);
    ctx.fillRect(x, y(p99), wide - 1, Math.max(y(p50) - y(p99), 1));
  });
  ctx.globalAlpha = 1;
  chart.plotted.quantiles = middle.length;
  if (n <= 3000) {
    ctx.lineWidth = 1;
    inWindow(app, (i) => {
      const x = s.x(attempts.to[i]), at = y(Math.max(attempts.to[i] - attempts.from[i], 1));
      ctx.fillStyle = ctx.strokeStyle = palette.client(attempts.client[i]);
      switch (attempts.outcome[i]) {
        case 0: ctx.fillRect(x - 1.5, at - 1.5, 3, 3); break;
        case 1: ctx.strokeRect(x - 1.5, at - 1.5, 3, 3); break;
        default:
          ctx.beginPath();
          for (const d of [-2, 2]) {
            ctx.moveTo(x - 2, at - d);
            ctx.lineTo(x + 2, at + d);
          }
          ctx.stroke();
      }
      chart.plotted.outcomes[attempts.outcome[i]]++;
    });
  }
  ctx.strokeStyle = palette.focus;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  middle.forEach(([x, y], i) => i && x - middle[i - 1][0] <= 6 * wide ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
  ctx.stroke();
  ctx.restore();
}

// rate: granted upwards, refused above them, fainter.
function plotRate(ctx, s, area, chart) {
  const {app} = chart, {attempts} = app.data, {palette} = app;
  const wide = s.step(10), first = Math.floor(app.view.from / wide) * wide, granted = [], refused = [];
  inWindow(app, (i) => {
    const b = Math.floor((attempts.to[i] - first) / wide), into = attempts.outcome[i] === 0 ? granted : refused;
    into[b] = (into[b] || 0) + 1;
  });
  let most = 0;
  for (let b = 0; b < Math.max(granted.length, refused.length); b++) most = Math.max(most, (granted[b] || 0) + (refused[b] || 0));
  const perSecond = 1e6 / wide, top = Math.max(most, 1), y = (n) => area.floor - n / top * (area.floor - area.top);
  chart.mark(ctx, s, y(top), countText(+(top * perSecond).toPrecision(3)) + '/s');
  chart.mark(ctx, s, area.floor, '0', false);
  ctx.save();
  ctx.beginPath();
  ctx.rect(s.gutter, 0, s.width, area.floor);
  ctx.clip();
  const across = Math.max(wide * s.perMicro - 1, 1);
  const bars = (of, base, colour, alpha) => {
    ctx.fillStyle = colour;
    ctx.globalAlpha = alpha;
    of.forEach((n, b) => ctx.fillRect(s.x(first + b * wide), y(n + base(b)), across, y(base(b)) - y(n + base(b))));
    ctx.globalAlpha = 1;
  };
  bars(granted, () => 0, palette.holds, 0.8);
  bars(refused, (b) => granted[b] || 0, palette.faint, 0.4);
  ctx.restore();
}

// clocks: a line for each master, its name at the end of it.
function plotClocks(ctx, s, area, chart) {
  const {data, palette} = chart.app;
  let least = 0, most = 0;
  for (const c of data.clocks) {
    least = Math.min(least, c.offset);
    most = Math.max(most, c.offset);
  }
  const y = (offset) => area.floor - 4 - (offset - least) / Math.max(most - least, 1) * (area.floor - area.top - 8);
  chart.mark(ctx, s, y(0), '0');
  for (const edge of [least, most]) if (Math.abs(edge) * 10 > most - least) chart.mark(ctx, s, y(edge), (edge > 0 ? '+' : '−') + spanText(Math.abs(edge)));
  ctx.save();
  ctx.beginPath();
  ctx.rect(s.gutter, 0, s.width, area.floor);
  ctx.clip();
  data.masters.forEach((name, m) => {
    const own = data.clocks.filter((c) => c.master === m);
    if (!own.length) return;
    ctx.strokeStyle = ctx.fillStyle = palette.client(m);
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    // What a clock shows holds until the next snapshot.
    own.forEach((c, i) => {
      if (i) ctx.lineTo(s.x(c.at), y(own[i - 1].offset));
      ctx[i ? 'lineTo' : 'moveTo'](s.x(c.at), y(c.offset));
    });
    ctx.stroke();
    const wrong = own.filter((c) => Math.abs(c.offset) > 1e5).at(-1);
    if (!wrong) return;
    ctx.font = `11px ${palette.sans}`;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'bottom';
    ctx.fillText(name, s.x(wrong.at) - 3, y(wrong.offset) - 2);
  });
  ctx.restore();
}
