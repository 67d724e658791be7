// The lines of the history behind what the page says: links that show them as they were recorded.

// linesAround is how many lines are shown before and after the one that was asked for.
const linesAround = 10;

class Lines {
  constructor(packed) {
    this.run = packed.run;
    this.text = new Map(packed.index.map((index, i) => [index, packed.text[i]]));
  }

  // links lists lines by their index; each opens in a box below the links.
  links(indices, named) {
    const out = element('div', undefined, 'lines'), box = element('div');
    box.setAttribute('aria-live', 'polite');
    indices.forEach((index, i) => {
      if (i) out.append(i < indices.length - 1 ? ', ' : ' and ');
      out.append(this.link(index, box));
    });
    out.append(named || '', box);
    return out;
  }

  link(index, box) {
    const b = element('button', String(index), 'line');
    b.type = 'button';
    b.title = 'Show this line of the history';
    b.setAttribute('aria-label', `Line ${index} of the history`);
    b.addEventListener('click', () => {
      const again = box.dataset.index === String(index) && box.childElementCount;
      box.dataset.index = index;
      box.replaceChildren(...(again ? [] : this.show(index)));
    });
    return b;
  }

  // show is the line, those around it, and the command that prints them.
  show(index) {
    const out = [], command = element('p', undefined, 'help');
    command.append('In a terminal: ', element('code', `lockpick show ${this.run || 'RUN'} --lines ${index}`));
    if (this.text.has(index)) {
      const pre = element('pre');
      pre.tabIndex = 0;
      for (let i = index - linesAround; i <= index + linesAround; i++) {
        if (!this.text.has(i)) continue;
        pre.append(element(i === index ? 'b' : 'span', this.text.get(i)), '\n');
      }
      out.push(pre);
    } else {
      command.prepend('The page has no copy of this line. ');
    }
    return [...out, command];
  }
}
