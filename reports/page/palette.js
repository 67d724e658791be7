// Colours come from the style sheet, so that light and dark are decided in one
// place. Clients have eight of their own, which can be told apart also by people who do not see
// red and green (palette_test.go measures it), and none of them is red, which means a violation
// and nothing else.

class Palette {
  // What the style sheet names: --bg, …, --inside-edge, --sans.
  bg = ''; panel = ''; ink = ''; soft = ''; faint = ''; line = ''; wash = ''; violated = ''; holds = ''; unknown = '';
  down = ''; paused = ''; cut = ''; slow = ''; inside = ''; insideEdge = ''; fenced = ''; focus = ''; sans = '';

  constructor() {
    this.fields = Object.keys(this);
    this.clients = ['']; // their colours
    this.hatches = new Map();
    this.inBytes = new Map();
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.read();
  }

  // named makes the colours the names of those in the style sheet, or their values again.
  named(on) {
    this.names = on;
    this.read();
  }

  read() {
    const style = getComputedStyle(document.documentElement), value = (name) => this.names && name !== 'sans' ? `var(--${name})` : style.getPropertyValue('--' + name).trim();
    for (const field of this.fields) this[field] = value(field.replace('E', '-e'));
    this.clients = Array.from({length: 8}, (_, i) => value('client-' + i));
    this.hatches.clear();
    this.inBytes.clear();
  }

  // bytes are the red, green, blue and opacity of a colour.
  bytes(colour) {
    if (!this.inBytes.has(colour)) {
      const c = context(document.createElement('canvas'));
      c.fillStyle = colour;
      c.fillRect(0, 0, 1, 1);
      this.inBytes.set(colour, c.getImageData(0, 0, 1, 1).data);
    }
    return this.inBytes.get(colour);
  }

  client(i) { return i < 0 ? this.faint : this.clients[i % this.clients.length]; }

  // fault is the colour of what a fault does.
  fault(f) { return this[f.colour]; }

  // hatch is a pattern of slanted lines, crisp at any pixel ratio.
  hatch(ctx, colour, rising) {
    if (ctx.hatch) return ctx.hatch(colour, rising);
    const ratio = devicePixelRatio || 1, name = colour + rising + ratio;
    if (!this.hatches.has(name)) {
      const size = 6, tile = document.createElement('canvas');
      tile.width = tile.height = Math.round(size * ratio);
      const c = context(tile);
      c.scale(tile.width / size, tile.width / size);
      c.strokeStyle = colour;
      c.lineWidth = 1.6;
      for (const shift of [-size, 0, size]) {
        c.beginPath();
        c.moveTo(shift, rising ? size : 0);
        c.lineTo(shift + size, rising ? 0 : size);
        c.stroke();
      }
      const pattern = ctx.createPattern(tile, 'repeat');
      pattern.setTransform(new DOMMatrix().scale(size / tile.width));
      this.hatches.set(name, pattern);
    }
    return this.hatches.get(name);
  }
}
