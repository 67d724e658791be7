// Draws the lanes. However long the run, it draws no more than the screen can
// show: what lies outside the window is never looked at, and of many things in
// one pixel only one is drawn. Violations, stale writes and what is picked come
// last, over everything, and are never left out; what is picked has a canvas of its own, so that pointing at
// things draws only that.

// Pixels says of things that come in the order of their times whether one lies within the pixel that the one
// before it has drawn in the same row.
class Pixels {
  constructor(s) {
    this.s = s;
    this.last = new Map();
  }

  drawn(row, from, to) {
    const a = Math.floor(this.s.x(from)), b = Math.floor(this.s.x(to));
    if (b <= this.last.get(row)) return true;
    this.last.set(row, b);
    return false;
  }
}

class Timeline {
  /** @param {App} app */
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.surface = new Surface(canvas, (ctx, w, h) => {
      this.draw(ctx, w, h);
      if (!ctx.drawImage) this.drawPicked(ctx, w, h); // on paper they are one
    });
    this.above = new Surface(byId('picked', HTMLCanvasElement), (ctx, w, h) => this.drawPicked(ctx, w, h), {printed: false});
    this.drawn = 0; // shapes of the last drawing
    this.counted = 0; // violations in the window
    this.arrows = 0; // votes that are drawn
    /** @type {number | undefined} */
    this.ready = undefined; // ms after which the lanes were drawn first
    /** @type {CanvasRenderingContext2D | undefined} */
    this.picture = undefined; // of a row of pixels
    this.setHeight();
  }

  setHeight() {
    this.canvas.style.height = this.above.canvas.style.height = this.app.lanes.height + 'px';
    this.redraw();
  }

  redraw() {
    this.surface.redraw();
    this.above.redraw();
  }

  scale(width = this.canvas.clientWidth) { return new Scale(this.app.view, gutterOf(width), width); }

  draw(ctx, width, height) {
    const s = this.scale(width);
    this.ctx = ctx;
    this.drawn = 0;
    this.ground(s, height);
    this.clipped(s, height, () => this.inside(s, height));
    this.names(s);
    this.ready ??= performance.now();
  }

  // clipped keeps what f draws out of the gutter.
  clipped(s, height, f) {
    const {ctx} = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(s.gutter, 0, s.width - s.gutter, height);
    ctx.clip();
    f();
    ctx.restore();
  }

  inside(s, height) {
    this.axis(s, height);
    this.shades(s);
    const lanes = this.app.lanes.list;
    for (const lane of lanes) {
      if (lane.kind === 'faults') this.faults(s, lane);
      if (lane.kind === 'client') this.client(s, lane);
      if (lane.kind === 'master') this.master(s, lane);
    }
    this.violations(s, height);
  }

  // box fills a span of time; short ones stay visible.
  box(s, from, to, y, h, colour, least = 1) {
    let a = s.x(from), b = s.x(to);
    if (b < s.gutter - 1 || a > s.width + 1) return;
    a = Math.max(a, s.gutter - 4);
    b = Math.min(b, s.width + 4);
    this.ctx.fillStyle = colour;
    this.ctx.fillRect(a, y, Math.max(b - a, least), h);
    this.drawn++;
  }

  // boxes fills the spans of many items alike, as one shape.
  boxes(s, items, alpha, colour, y, h, from, to, least = 1) {
    const {ctx} = this;
    ctx.beginPath();
    for (const i of items) {
      const a = Math.max(s.x(from(i)), s.gutter - 4), b = Math.min(s.x(to(i)), s.width + 4);
      if (b < s.gutter - 1 || a > s.width + 1) continue;
      ctx.rect(a, y, Math.max(b - a, least), h);
      this.drawn++;
    }
    ctx.globalAlpha = alpha;
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  // frame outlines a span of time.
  frame(s, from, to, y, h, colour, width = 1) {
    const a = Math.max(s.x(from), s.gutter - 4), b = Math.min(s.x(to), s.width + 4);
    if (b < s.gutter || a > s.width) return;
    this.ctx.strokeStyle = colour;
    this.ctx.lineWidth = width;
    this.ctx.strokeRect(a + width / 2, y + width / 2, Math.max(b - a - width, 1), h - width);
  }

  // label writes text within a span of time if it fits there.
  label(s, text, from, to, y, colour, size = 11, weight = '') {
    const a = Math.max(s.x(from), s.gutter) + 4, room = Math.min(s.x(to), s.width) - a - 3;
    if (room < 14) return false;
    this.ctx.font = `${weight} ${size}px ${this.app.palette.sans}`;
    if (this.ctx.measureText(text).width > room) return false;
    this.ctx.fillStyle = colour;
    this.ctx.textBaseline = 'alphabetic';
    this.ctx.textAlign = 'left';
    this.ctx.fillText(text, a, y);
    return true;
  }

  ground(s, height) {
    const {palette, lanes} = this.app, ctx = this.ctx;
    for (const lane of lanes.list) {
      const first = lane.i === 0;
      if (lane.kind === 'rest') {
        ctx.fillStyle = palette.line;
        ctx.fillRect(s.gutter, lane.y, s.width, 1);
      }
      if (lane.kind === 'client' || lane.kind === 'master') {
        ctx.fillStyle = palette.line;
        ctx.fillRect(first ? 0 : s.gutter, lane.y, s.width, first && lane.kind === 'master' ? 2 : 1);
      }
      if (lane.kind === 'master') {
        ctx.fillStyle = palette.wash;
        ctx.fillRect(s.gutter, lane.y + 1, s.width - s.gutter, lane.h - 1);
      }
    }
    ctx.fillStyle = palette.line;
    ctx.fillRect(s.gutter - 1, 0, 1, height);
  }

  axis(s, height) {
    const {palette, view} = this.app, ctx = this.ctx;
    const step = s.step(s.width < 620 ? 90 : 110), first = Math.ceil(view.from / step) * step;
    ctx.font = `11.5px ${palette.sans}`;
    ctx.textBaseline = 'middle';
    for (let at = first; at <= view.to; at += step) {
      const x = Math.round(s.x(at)), text = momentText(Math.round(at * 1e3) / 1e3 || 0, step);
      ctx.fillStyle = palette.line;
      ctx.fillRect(x, 20, 1, height);
      ctx.fillStyle = palette.soft;
      const half = ctx.measureText(text).width / 2;
      if (x - half < s.gutter + 2 || x + half > s.width - 2) continue;
      ctx.textAlign = 'center';
      ctx.fillText(text, x, 11);
    }
  }

  names(s) {
    const {palette, data, lanes} = this.app, ctx = this.ctx, narrow = s.gutter < 60;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    const write = (text, y, colour, weight = '', indent = narrow ? 6 : 10, size = 12.5) => {
      ctx.font = `${weight} ${size}px ${palette.sans}`;
      ctx.fillStyle = colour;
      let shown = text;
      while (shown.length > 1 && ctx.measureText(shown).width > s.gutter - indent - 6) shown = shown.slice(0, -2) + '…';
      ctx.fillText(shown, indent, y);
    };
    for (const lane of lanes.list) {
      const middle = lane.y + lane.h / 2, chosen = this.app.lane === lane.kind + lane.i;
      if (chosen) {
        ctx.fillStyle = palette.focus;
        ctx.fillRect(0, lane.y + 1, 3, lane.h - 1);
      }
      if (lane.kind === 'violations') {
        lanes.levels.forEach((level, i) => write(narrow ? level : level + ' violated', lane.y + 10 + i * 15, palette.violated, '600', narrow ? 6 : 10, 11.5));
      }
      if (lane.kind === 'faults') write('faults', lane.y + 11, palette.soft);
      if (lane.kind === 'client') {
        ctx.fillStyle = palette.client(lane.i);
        ctx.fillRect(narrow ? 6 : 10, middle - 6, 4, 12);
        write(data.clients[lane.i], middle, palette.ink, '600', narrow ? 14 : 20);
      }
      if (lane.kind === 'rest') write('+' + plural(lanes.folded, 'client'), middle, palette.soft);
      if (lane.kind === 'master') write(data.masters[lane.i], middle, palette.ink, '', narrow ? 14 : 20);
    }
  }

  // shades colours the lanes that a fault acts on while it lasts.
  shades(s) {
    const {data, lanes, palette, view} = this.app, ctx = this.ctx, again = new Pixels(s);
    ctx.globalAlpha = 0.13;
    for (const f of data.faults) {
      if (f.to < view.from || f.from > view.to || !lanes.showsFault(f)) continue;
      for (const lane of lanes.list) {
        if ((lane.kind === 'client' || lane.kind === 'master') && lanes.hits(f, lane) && !again.drawn(lane.y, f.from, f.to)) this.box(s, f.from, f.to, lane.y + 1, lane.h - 1, palette.fault(f), 2);
      }
    }
    ctx.globalAlpha = 1;
  }

  faults(s, lane) {
    const {data, lanes, palette, view} = this.app, ctx = this.ctx;
    const again = new Pixels(s);
    data.faults.forEach((f, i) => {
      if (f.to < view.from || f.from > view.to || !lanes.showsFault(f)) return;
      if (again.drawn(lanes.faultRow[i], f.from, f.to)) return;
      this.fault(s, lane, i, 0.3);
    });
  }

  // fault draws a fault in its row.
  fault(s, lane, i, strength) {
    const {data, lanes, palette} = this.app, ctx = this.ctx, f = data.faults[i], y = lane.y + 3 + lanes.faultRow[i] * 17, colour = palette.fault(f);
    ctx.globalAlpha = strength;
    this.box(s, f.from, f.to, y, 14, colour, 3);
    ctx.globalAlpha = 1;
    this.box(s, f.from, f.from, y, 14, colour, 2);
    const who = f.masters.map((m) => data.masters[m]).concat(f.clients.map((c) => data.clients[c])).join(' ');
    this.label(s, `${f.name} ${who}`, f.from, f.to, y + 11, palette.ink) || this.label(s, f.name, f.from, f.to, y + 11, palette.ink);
  }

  // visible lists what a lane must draw: of what shares one pixel, the first,
  // unless `matters` says that another one matters more. name says what of which lane it is.
  visible(s, name, order, reach, shown, matters) {
    const {view, coarse} = this.app;
    const seen = (order, first, last, x) => {
      const out = [];
      let pixel = -Infinity, mattered = false;
      for (let p = first; p < last; p++) {
        const i = order.items[p];
        if (!shown(i)) continue;
        const at = Math.floor(x(order.from(i)));
        if (at === pixel && x(reach(i)) < at + 1.5 && (mattered || !matters(i))) continue;
        pixel = at;
        mattered = matters(i);
        out.push(i);
      }
      return out;
    };
    if (coarse.fits(s)) order = coarse.thin(name, order, reach, seen);
    return seen(order, order.first(view.from), order.last(view.to), (at) => s.x(at));
  }

  // occupancy draws what is too short for the screen: each pixel as strongly as the share of its
  // time that is taken, in the colour of what takes most of it. It returns whether an item is that
  // short; the others are drawn one by one. name says what of which lane it is.
  occupancy(s, name, order, y, h, strength, shown, from, to, colour) {
    const {view, coarse} = this.app, pixel = 1 / s.perMicro, wide = Math.ceil(s.width - s.gutter) + 1;
    const taken = new Float64Array(wide), most = new Float64Array(wide), by = new Int32Array(wide).fill(-1);
    const short = (i) => to(i) - from(i) < 2 * pixel;
    const add = (i, from, to, dense) => { // dense is the share of that time which is taken
      const a = s.x(from) - s.gutter, b = s.x(to) - s.gutter;
      for (let x = Math.max(Math.floor(a), 0); x <= b && x < wide; x++) {
        const part = Math.max(Math.min(b, x + 1) - Math.max(a, x), 0) * dense;
        taken[x] += part;
        if (by[x] < 0 || part > most[x]) { most[x] = part; by[x] = i; }
      }
    };
    if (coarse.fits(s)) {
      const all = coarse.occupied(name, order, shown, from, to), {long} = coarse;
      const last = Math.min(Math.ceil((view.to - view.start) / long), coarse.parts);
      for (let n = Math.max(Math.floor((view.from - view.start) / long), 0); n < last; n++) {
        const at = view.start + n * long;
        if (all.by[n] >= 0) add(all.by[n], at, at + long, all.taken[n] / long);
      }
      order = all.others;
    }
    for (let p = order.first(view.from), last = order.last(view.to); p < last; p++) {
      const i = order.items[p];
      if (shown(i) && short(i)) add(i, from(i), to(i), 1);
    }
    const alpha = (x) => strength * Math.min(Math.max(taken[x], 0.12), 1); // something is always seen
    this.row(s.gutter, y, h, wide, (x) => by[x] < 0 ? null : {colour: colour(by[x]), alpha: alpha(x)});
    return short;
  }

  // row draws a row of pixels, each as `of` says, as one picture: thousands of rectangles take longer
  // than all the rest. On paper they are rectangles.
  row(left, y, h, wide, of) {
    const {ctx, app} = this;
    if (!ctx.drawImage) {
      for (let x = 0; x < wide; x++) {
        const pixel = of(x);
        if (!pixel) continue;
        ctx.globalAlpha = pixel.alpha;
        ctx.fillStyle = pixel.colour;
        ctx.fillRect(left + x, y, 1, h);
      }
      ctx.globalAlpha = 1;
      return;
    }
    this.picture ??= context(document.createElement('canvas'));
    const {picture} = this;
    if (picture.canvas.width !== wide) [picture.canvas.width, picture.canvas.height] = [wide, 1];
    const image = new ImageData(wide, 1);
    for (let x = 0; x < wide; x++) {
      const pixel = of(x);
      if (!pixel) continue;
      image.data.set(app.palette.bytes(pixel.colour), 4 * x);
      image.data[4 * x + 3] = Math.round(255 * pixel.alpha);
      this.drawn++;
    }
    picture.putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(picture.canvas, left, y, wide, h);
  }

  client(s, lane) {
    const {data, lanes, palette, view} = this.app, {attempts, leases, writes} = data, ctx = this.ctx;
    const part = (f) => lane.y + Math.round(lane.h * f), high = (f) => Math.max(Math.round(lane.h * f), 2);
    const colour = palette.client(lane.i), bar = part(0.23), barH = high(0.43);
    for (const p of data.pauses) {
      if (p.client === lane.i && p.to >= view.from && p.from <= view.to) this.box(s, p.from, p.to, lane.y + 1, lane.h - 1, palette.hatch(ctx, palette.faint, false), 2);
    }
    const seen = this.visible(s, 'acquires' + lane.i, lanes.attempts[lane.i], (i) => attempts.reach[i], (i) => lanes.shows(attempts.key[i]), (i) => attempts.lease[i] >= 0);
    const granted = (i) => attempts.outcome[i] === 0, asking = part(0.09);
    this.boxes(s, seen.filter(granted), 0.65, colour, asking, high(0.09), (i) => attempts.from[i], (i) => attempts.to[i]);
    this.boxes(s, seen.filter((i) => !granted(i)), 1, palette.faint, asking, high(0.09), (i) => attempts.from[i], (i) => attempts.to[i]);
    const rest = (i) => Math.max(leases.hold[attempts.lease[i]], attempts.to[i]), until = (i) => leases.until[attempts.lease[i]];
    const resting = seen.filter((i) => attempts.lease[i] >= 0 && until(i) > rest(i));
    this.boxes(s, resting, 0.2, colour, bar, barH, rest, until, 0);
    ctx.globalAlpha = 0.5;
    for (const i of resting) if (s.x(until(i)) - s.x(rest(i)) > 3) this.frame(s, rest(i), until(i), bar, barH, colour);
    ctx.globalAlpha = 1;
    const short = this.occupancy(s, 'leases' + lane.i, lanes.attempts[lane.i], bar, barH, 1, (i) => attempts.lease[i] >= 0 && lanes.shows(attempts.key[i]),
      (i) => attempts.to[i], (i) => leases.hold[attempts.lease[i]], () => colour);
    for (const i of seen) {
      const l = attempts.lease[i];
      if (l < 0) continue;
      const nested = Math.round(Math.min(leases.depth[l], 2) * barH / 5), top = bar + nested;
      const tall = Math.max(Math.ceil(barH * (leases.share[l] || 100) / 100) - 2 * nested, 3); // its share of the lock
      if (!short(i)) this.box(s, attempts.to[i], leases.hold[l], top, tall, colour);
      if (nested) this.frame(s, attempts.to[i], leases.hold[l], top, tall, palette.panel); // inside an outer hold
      for (const span of leases.holds.get(l) || []) this.box(s, span.from, span.to, top, tall, colour);
      const fence = leases.fence[l] ? ` · fence ${leases.fence[l]}` : '', token = shortToken(attempts.token[i]);
      const key = lanes.key < 0 && data.keys.length > 1 ? data.keys[attempts.key[i]] + ' · ' : '';
      if (lane.h > 30) {
        const y = bar + 11;
        this.label(s, key + token + fence, attempts.to[i], leases.hold[l], y, palette.panel, 10.5) || this.label(s, key + token, attempts.to[i], leases.hold[l], y, palette.panel, 10.5);
      }
    }
    const y = bar + barH - high(0.14) - 1, h = high(0.1);
    const brief = this.occupancy(s, 'sections' + lane.i, lanes.attempts[lane.i], y, h, 1, (i) => attempts.lease[i] >= 0 && leases.enter[attempts.lease[i]] <= leases.leave[attempts.lease[i]] && lanes.shows(attempts.key[i]),
      (i) => leases.enter[attempts.lease[i]], (i) => leases.leave[attempts.lease[i]], () => palette.inside);
    for (const i of seen) {
      const l = attempts.lease[i];
      if (l < 0 || !(leases.enter[l] <= leases.leave[l]) || brief(i)) continue;
      if (s.x(leases.leave[l]) - s.x(leases.enter[l]) > 3) this.box(s, leases.enter[l], leases.leave[l], y - 1, h + 2, palette.insideEdge);
      this.box(s, leases.enter[l], leases.leave[l], y, h, palette.inside);
    }
    this.writes(s, lane, part(0.72), high(0.2));
  }

  writes(s, lane, y, h) {
    const {data, lanes, palette} = this.app, {writes} = data;
    const seen = this.visible(s, 'writes' + lane.i, lanes.writes[lane.i], (i) => writes.at[i], (i) => lanes.shows(writes.key[i]), (i) => writes.effect[i] !== 0);
    for (const pass of [0, 2, 1]) { // stale ones on top
      for (const i of seen) {
        if (writes.effect[i] !== pass) continue;
        const at = writes.at[i], x = s.x(at);
        if (pass === 0) this.box(s, at, at, y, writes.twin[i] ? h / 2 : h, palette.ink, 1.5);
        else if (pass === 1) this.box(s, at - 2 / s.perMicro, at, y - 2, h + 3, palette.violated, 4);
        else {
          this.ctx.strokeStyle = palette.fenced;
          this.ctx.lineWidth = 1.5;
          this.ctx.strokeRect(x + 1.5, y + 1, 6, h - 2);
          this.drawn++;
        }
      }
    }
  }

  master(s, lane) {
    const {data, lanes, palette, view} = this.app, {stored, attempts} = data, ctx = this.ctx;
    const strip = lane.y + 3, h = 11, again = new Pixels(s);
    ctx.globalAlpha = 0.8;
    this.box(s, 0, data.end, strip + h - 2, 2, palette.holds);
    ctx.globalAlpha = 1;
    for (const f of data.faults) {
      if (f.colour !== 'cut' || !f.masters.includes(lane.i) || f.to < view.from || f.from > view.to || again.drawn('cut', f.from, f.to)) continue;
      this.strip(s, f.from, f.to, strip, h, palette.hatch(ctx, palette.cut, true), f.clients.length ? 'cut off from ' + list(f.clients.map((c) => data.clients[c])) : 'cut off');
    }
    for (const st of data.states) {
      if (st.master !== lane.i || st.to < view.from || st.from > view.to || again.drawn(st.down ? 'down' : 'paused', st.from, st.to)) continue;
      if (st.down) {
        this.box(s, st.from, st.to, strip, h, palette.down, 2);
        this.label(s, 'down', st.from, st.to, strip + 9, palette.panel, 10, '600');
      } else this.strip(s, st.from, st.to, strip, h, palette.hatch(ctx, palette.paused, false), 'paused');
    }
    const seen = this.visible(s, 'stored' + lane.i, lanes.stored[lane.i], (i) => stored.to[i], (i) => lanes.shows(stored.key[i]), () => true);
    const rowOf = data.keys.map((_, key) => lanes.keyRow(lane, key)), rows = new Map(rowOf.map((row) => [row.y, row]));
    /** @type {(i: number) => boolean} */
    let short = () => false;
    for (const {y, h} of rows.values()) { // the tokens of leases; those of failed attempts are faint
      short = this.occupancy(s, `stored${lane.i}/${rows.size}/${rowOf.findIndex((row) => row.y === y)}`, lanes.stored[lane.i], y, h, 0.78, (i) => lanes.ofLease(i) && lanes.shows(stored.key[i]) && rowOf[stored.key[i]].y === y,
        (i) => stored.from[i], (i) => stored.to[i], (i) => palette.client(attempts.client[stored.attempt[i]]));
    }
    for (const i of seen) {
      const row = rowOf[stored.key[i]], a = stored.attempt[i], colour = a < 0 ? palette.faint : palette.client(attempts.client[a]);
      const lease = lanes.ofLease(i), token = stored.token[i] ? data.texts[stored.token[i]] : attempts.token[a];
      ctx.globalAlpha = lease ? 0.78 : 0.3;
      if (!lease || !short(i)) this.box(s, stored.from[i], stored.to[i], row.y, row.h, colour);
      ctx.globalAlpha = 1;
      if (stored.ending[i] === 3 || stored.ending[i] === 5) this.box(s, stored.to[i], stored.to[i], row.y - 1, row.h + 2, palette.violated, 2.5);
      if (a >= 0 && row.h > 10) {
        const name = data.clients[attempts.client[a]], y = row.y + row.h / 2 + 4, ink = lease ? palette.panel : palette.ink;
        this.label(s, `${name} ${shortToken(token)}`, stored.from[i], stored.to[i], y, ink, 10.5) || this.label(s, name, stored.from[i], stored.to[i], y, ink, 10.5);
      }
    }
  }

  // strip fills part of a master's state strip with a pattern and says what it is.
  strip(s, from, to, y, h, pattern, text) {
    const {palette} = this.app;
    this.box(s, from, to, y, h, palette.wash, 2);
    this.box(s, from, to, y, h, pattern, 2);
    const ctx = this.ctx, a = Math.max(s.x(from), s.gutter), room = Math.min(s.x(to), s.width) - a;
    if (room < 28) return; // no text is that short
    ctx.font = `600 10px ${palette.sans}`;
    const width = ctx.measureText(text).width;
    if (width + 14 > room) return;
    ctx.fillStyle = palette.wash;
    ctx.fillRect(a + 3, y, width + 6, h);
    this.label(s, text, from, to, y + 9, palette.ink, 10, '600');
  }
}
