// The whole run in one strip: how many leases were held, the faults, the
// violations, and the window that the timeline shows. Dragging moves it.

class Overview {
  /** @param {App} app */
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.surface = new Surface(canvas, (ctx, w, h) => this.draw(ctx, w, h));
    canvas.addEventListener('pointerdown', (e) => this.grab(e));
    canvas.addEventListener('wheel', (e) => {
      e.preventDefault();
      app.view.zoom(Math.exp(e.deltaY * 0.0015), this.scale().at(e.offsetX));
    }, {passive: false});
  }

  // scale is that of the whole run, whatever the window.
  scale() {
    const {view} = this.app, width = this.canvas.clientWidth;
    return new Scale({from: view.start, to: view.stop, span: view.stop - view.start}, gutterOf(width), width);
  }

  grab(e) {
    const {view} = this.app, s = this.scale(), at = s.at(e.offsetX), inside = at >= view.from && at <= view.to && !view.whole;
    const shift = inside ? at - (view.from + view.to) / 2 : 0;
    const span = view.whole ? (view.stop - view.start) / 10 : view.span;
    const move = (e) => {
      const middle = s.at(e.clientX - this.canvas.getBoundingClientRect().left) - shift;
      view.jump(middle - span / 2, middle + span / 2);
    };
    this.canvas.setPointerCapture(e.pointerId);
    this.canvas.addEventListener('pointermove', move);
    this.canvas.addEventListener('pointerup', () => this.canvas.removeEventListener('pointermove', move), {once: true});
    move(e);
  }

  // count is how many leases were granted in each pixel, once for each width.
  count(s) {
    if (this.counted && this.counted.width === s.width && this.counted.key === this.app.lanes.key) return this.counted;
    const {leases, attempts} = this.app.data, columns = new Float64Array(Math.ceil((s.width - s.gutter) / 3) + 1);
    for (let l = 0; l < leases.n; l++) {
      const a = leases.attempt[l];
      if (this.app.lanes.shows(attempts.key[a])) columns[Math.max(Math.floor((s.x(attempts.to[a]) - s.gutter) / 3), 0)]++;
    }
    return this.counted = {width: s.width, key: this.app.lanes.key, columns, most: Math.max(...columns, 1)};
  }

  draw(ctx, width, height) {
    const {data, palette, view, lanes} = this.app, s = this.scale();
    const top = 12, floor = height - 6;
    for (const f of data.faults) {
      if (!lanes.showsFault(f)) continue;
      ctx.globalAlpha = 0.28;
      ctx.fillStyle = palette.fault(f);
      ctx.fillRect(s.x(f.from), top, Math.max(s.x(f.to) - s.x(f.from), 2), floor - top);
    }
    ctx.globalAlpha = 0.75;
    ctx.fillStyle = palette.soft;
    const {columns, most} = this.count(s);
    columns.forEach((n, c) => {
      if (n) ctx.fillRect(s.gutter + c * 3, floor, 2, -Math.max((floor - top - 2) * n / most, 2));
    });
    ctx.globalAlpha = 1;
    ctx.fillStyle = palette.violated;
    for (const v of data.violations) {
      if (lanes.shows(v.key)) ctx.fillRect(s.x(v.at) - 1, 3, Math.max(s.x(v.until) - s.x(v.at), 3), 7);
    }
    const {marks} = data;
    for (let i = 0, drawn = -1; i < marks.n; i++) {
      const a = s.x(marks.at[i]) - 1, b = Math.max(a + 3, s.x(marks.until[i]));
      if (!lanes.shows(marks.key[i]) || b <= drawn) continue;
      ctx.fillRect(Math.max(a, drawn), 3, b - Math.max(a, drawn), 7);
      drawn = b;
    }
    ctx.fillStyle = palette.bg;
    ctx.globalAlpha = 0.62;
    const a = s.x(view.from), b = s.x(view.to);
    ctx.fillRect(s.gutter, 0, a - s.gutter, height);
    ctx.fillRect(b, 0, width - b, height);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.focus;
    ctx.lineWidth = 2;
    ctx.strokeRect(Math.max(a, s.gutter) + 1, 1, Math.max(Math.min(b, width) - Math.max(a, s.gutter) - 2, 3), height - 2);
    ctx.fillStyle = palette.soft;
    ctx.font = `12.5px ${palette.sans}`;
    ctx.textBaseline = 'middle';
    ctx.fillText(s.gutter < 60 ? 'run' : 'whole run', 10, height / 2);
  }
}
