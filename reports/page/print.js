// On paper the canvases are drawn once more as SVG, so that they are as sharp as the printer.

const svgSpace = 'http://www.w3.org/2000/svg';

// VectorContext draws what the page's charts draw on a canvas, with the part of the canvas's methods that
// they use, as SVG.
class VectorContext {
  constructor(measure, width, height) {
    this.measure = measure;
    this.root = this.group = VectorContext.node('svg', {viewBox: `0 0 ${width} ${height}`, class: 'print'});
    this.stack = [];
    this.path = '';
    /** @type {string | {colour: string, rising: boolean}} */
    this.fillStyle = '#000';
    this.strokeStyle = '#000';
    this.lineWidth = 1;
    this.globalAlpha = 1;
    this.font = '11px sans-serif';
    this.textAlign = 'start';
    this.textBaseline = 'alphabetic';
    /** @type {number[]} */
    this.dash = [];
  }

  static node(name, attributes) {
    const e = document.createElementNS(svgSpace, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    return e;
  }

  put(name, attributes) {
    if (this.globalAlpha < 1) attributes.opacity = this.globalAlpha;
    const e = VectorContext.node(name, attributes);
    this.group.append(e);
    return e;
  }

  save() {
    const {group, fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash} = this;
    this.stack.push({group, fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash});
  }

  restore() { Object.assign(this, this.stack.pop()); }

  beginPath() { this.path = ''; }

  moveTo(x, y) { this.path += `M${x} ${y}`; }

  lineTo(x, y) { this.path += `L${x} ${y}`; }

  rect(x, y, w, h) { this.path += `M${x} ${y}h${w}v${h}h${-w}z`; }

  arc(x, y, r) { this.path += `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; } // a whole circle

  fill() { if (this.path) this.put('path', {d: this.path, fill: this.fillStyle}); }

  stroke() { if (this.path) this.put('path', {d: this.path, fill: 'none', ...this.pen()}); }

  pen() { return {stroke: this.strokeStyle, 'stroke-width': this.lineWidth, ...(this.dash.length ? {'stroke-dasharray': this.dash.join(' ')} : {})}; }

  clip() {
    const id = this.id(), clip = VectorContext.node('clipPath', {id});
    clip.append(VectorContext.node('path', {d: this.path}));
    this.root.append(clip);
    const inside = VectorContext.node('g', {'clip-path': `url(#${id})`});
    this.group.append(inside);
    this.group = inside;
  }

  fillRect(x, y, width, height) {
    if (!(width > 0 && height > 0)) return;
    if (typeof this.fillStyle !== 'string') this.slanted(this.fillStyle, x, y, width, height);
    else this.put('rect', {x, y, width, height, fill: this.fillStyle});
  }

  strokeRect(x, y, width, height) { this.put('rect', {x, y, width: Math.max(width, 0), height: Math.max(height, 0), fill: 'none', ...this.pen()}); }

  setLineDash(dash) { this.dash = dash; }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  text(text, x, y, more) {
    const [, weight, size] = /^(?:(\w+) )?([\d.]+)px/.exec(this.font) || [, , 11];
    this.put('text', {
      x, y, 'font-size': size, 'font-weight': weight || 400, 'text-anchor': {center: 'middle', right: 'end', end: 'end'}[this.textAlign] || 'start',
      'dominant-baseline': {middle: 'central', top: 'hanging', bottom: 'text-after-edge'}[this.textBaseline] || 'auto', ...more,
    }).textContent = text;
  }

  fillText(text, x, y) { this.text(text, x, y, {fill: this.fillStyle}); }

  strokeText(text, x, y) { this.text(text, x, y, {fill: 'none', ...this.pen()}); }

  // hatch is a fill of slanted lines. They are drawn one by one: printers make pixels of patterns.
  hatch(colour, rising) { return {colour, rising}; }

  slanted({colour, rising}, x, y, width, height) {
    let d = '';
    for (let shift = -height; shift < width; shift += 6) {
      const from = Math.max(0, -shift), to = Math.min(height, width - shift), up = (at) => (rising ? y + height - at : y + at);
      if (to > from) d += `M${x + shift + from} ${up(from)}L${x + shift + to} ${up(to)}`;
    }
    if (d) this.put('path', {d, fill: 'none', stroke: colour, 'stroke-width': 1.6});
  }

  id() { return 'print-' + VectorContext.used++; }
}

VectorContext.used = 1; // ids

// printAsVectors puts a drawing beside each canvas while the page is printed. Colours are the names of
// those in the style sheet: on paper they are the light ones.
function printAsVectors(app) {
  let drawn = [];
  addEventListener('beforeprint', () => {
    app.palette.named(true);
    for (const s of Surface.all) {
      if (s.canvas.clientWidth === 0) continue; // it is not shown
      const ctx = new VectorContext(s.ctx, s.canvas.clientWidth, s.canvas.clientHeight);
      s.draw(ctx, s.canvas.clientWidth, s.canvas.clientHeight);
      s.canvas.after(ctx.root);
      drawn.push(ctx.root);
    }
  });
  addEventListener('afterprint', () => {
    for (const e of drawn) e.remove();
    drawn = [];
    app.palette.named(false);
    app.redraw();
  });
}
