// The window of time that all charts show. Whoever draws listens to it.

class View {
  constructor(end) {
    const margin = Math.max(end * 0.01, 1000);
    this.least = 50; // µs: closer than this there is nothing more to see
    this.start = -margin;
    this.stop = end + margin;
    this.from = this.start;
    this.to = this.stop;
    this.frame = 0; // the request for the next step of a glide
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  get span() { return this.to - this.from; }
  get whole() { return this.from <= this.start && this.to >= this.stop; }

  onChange(f) { this.listeners.push(f); }

  // show sets the window, kept within the run and not closer than is useful.
  show(from, to) {
    const whole = this.stop - this.start, span = Math.min(Math.max(to - from, this.least), whole);
    const middle = (from + to) / 2;
    this.from = span === whole ? this.start : Math.max(Math.min(middle - span / 2, this.stop - span), this.start);
    this.to = span === whole ? this.stop : this.from + span;
    for (const f of this.listeners) f();
  }

  jump(from, to) {
    cancelAnimationFrame(this.frame);
    this.show(from, to);
  }

  // glide moves there smoothly, so that the eye can follow.
  glide(from, to) {
    cancelAnimationFrame(this.frame);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return this.show(from, to);
    const began = performance.now(), a = this.from, b = this.to;
    const step = (now) => {
      const part = Math.min(Math.max((now - began) / 260, 0), 1);
      const eased = 1 - Math.pow(1 - part, 3);
      this.show(a + (from - a) * eased, b + (to - b) * eased);
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  // zoom by a factor keeps the time `at` where it is on the screen.
  zoom(factor, at = (this.from + this.to) / 2) {
    const span = Math.min(Math.max(this.span * factor, this.least), this.stop - this.start);
    const from = at - (at - this.from) * (span / this.span);
    this.jump(from, from + span);
  }

  pan(by) { this.jump(this.from + by, this.to + by); }

  fit() { this.glide(this.start, this.stop); }
}

// Scale places times on a canvas: the gutter on the left is for names.
class Scale {
  constructor(view, gutter, width) {
    this.view = view;
    this.gutter = gutter;
    this.width = width;
    this.perMicro = (width - gutter) / view.span;
  }

  x(at) { return this.gutter + (at - this.view.from) * this.perMicro; }
  at(x) { return this.view.from + (x - this.gutter) / this.perMicro; }

  // step is the distance of the scale's marks: 1, 2 or 5 times a power of ten.
  step(apart) {
    const least = apart / this.perMicro, power = Math.pow(10, Math.floor(Math.log10(least)));
    return [1, 2, 5, 10].map((n) => n * power).find((s) => s >= least);
  }
}

// Surface is a canvas that is as sharp as its screen and redrawn at most once a
// frame; with `patient`, when nothing else is to be done.
class Surface {
  constructor(canvas, draw, {printed = true, patient = false} = {}) {
    this.canvas = canvas;
    this.ctx = context(canvas);
    this.draw = draw;
    this.soon = patient && 'requestIdleCallback' in window ? (f) => requestIdleCallback(f, {timeout: 300}) : requestAnimationFrame;
    if (printed) Surface.all.push(this);
    new ResizeObserver(() => this.redraw()).observe(canvas.parentElement);
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    this.soon.call(window, () => {
      this.waiting = false;
      const began = performance.now();
      this.paint();
      this.took = performance.now() - began;
    });
  }

  paint() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    const ratio = Math.min(devicePixelRatio || 1, 16000 / Math.max(width, height, 1));
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.ctx.clearRect(0, 0, width, height);
    this.draw(this.ctx, width, height);
  }
}

/** @type {Surface[]} */
Surface.all = []; // of the page, as far as they are printed

const gutterOf = (width) => width < 620 ? 52 : 92;
