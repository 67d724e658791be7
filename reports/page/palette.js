// Colours come from the style sheet, so that light and dark are decided in one
// place. Clients have eight of their own, which can be told apart also by people who do not see
// red and green (palette_test.go measures it), and none of them is red, which means a violation
// and nothing else.

class Palette {
  constructor() {
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.read();
  }

  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['bg', 'panel', 'ink', 'soft', 'faint', 'line', 'wash', 'violated', 'holds', 'unknown', 'down', 'paused', 'cut', 'slow', 'inside', 'inside-edge', 'fenced', 'focus', 'sans']) {
      this[name.replace('-e', 'E')] = style.getPropertyValue('--' + name).trim();
    }
    this.clients = Array.from({length: 8}, (_, i) => style.getPropertyValue('--client-' + i).trim());
    this.hatches = new Map();
  }

  client(i) { return i < 0 ? this.faint : this.clients[i % this.clients.length]; }

  // fault is the colour of what a fault does.
  fault(f) { return this[f.colour]; }

  // hatch is a pattern of slanted lines, crisp at any pixel ratio.
  hatch(ctx, colour, rising) {
    const ratio = devicePixelRatio || 1, name = colour + rising + ratio;
    if (!this.hatches.has(name)) {
      const size = 6, tile = document.createElement('canvas');
      tile.width = tile.height = Math.round(size * ratio);
      const c = tile.getContext('2d');
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
