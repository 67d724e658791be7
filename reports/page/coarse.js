// What a lane needs when the window holds far more than the screen can show. The run is cut into as many
// parts as are enough for the whole of it on a wide screen; what happened in each part is added up once,
// and drawing adds up parts instead of going through everything that happened.

class Coarse {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.parts = 8192;
    this.kept = new Map();
  }

  get long() { return (this.app.view.stop - this.app.view.start) / this.parts; } // µs, of each part

  // fits says whether a pixel is at least as long as a part.
  fits(s) { return s.perMicro * this.long <= 1; }

  // keep returns what make made of a name, until another key is shown.
  keep(name, make) {
    if (this.key !== this.app.lanes.key) {
      this.kept.clear();
      this.key = this.app.lanes.key;
    }
    if (!this.kept.has(name)) this.kept.set(name, make());
    return this.kept.get(name);
  }

  // thin leaves out of what is in order, and shown, all that one part has more than one of, as `seen`
  // does for pixels.
  thin(name, order, reach, seen) {
    return this.keep(name, () => {
      const {view} = this.app, part = (at) => (at - view.start) / this.long;
      return new Order(Int32Array.from(seen(order, 0, order.items.length, part)), order.from, reach);
    });
  }

  // occupied says how much of each part is taken by what is shorter than two of them, and what takes
  // most of it; the others stay in order.
  occupied(name, order, shown, from, to) {
    return this.keep(name, () => {
      const {parts, long} = this, {start} = this.app.view;
      const taken = new Float64Array(parts), most = new Float64Array(parts), by = new Int32Array(parts).fill(-1), others = [];
      for (const i of order.items) {
        if (!shown(i)) continue;
        if (to(i) - from(i) >= 2 * long) {
          others.push(i);
          continue;
        }
        const a = (from(i) - start) / long, b = (to(i) - start) / long;
        for (let n = Math.max(Math.floor(a), 0); n <= b && n < parts; n++) {
          const part = Math.max(Math.min(b, n + 1) - Math.max(a, n), 0);
          taken[n] += part * long;
          if (by[n] < 0 || part > most[n]) { most[n] = part; by[n] = i; }
        }
      }
      return {taken, by, others: new Order(Int32Array.from(others), order.from, to)};
    });
  }
}
