// The violations that are not explained, in the list: so many at a time, when they are asked for.

class Others {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.shown = 0;
    this.atOnce = 500;
    this.list = queryAll('ol.violations').at(0);
    this.buttons = queryAll('#more-violations'); // one or none
    for (const b of this.buttons) b.addEventListener('click', () => this.more());
    this.say();
  }

  say() {
    const left = this.app.data.marks.n - this.shown;
    for (const b of this.buttons) {
      if (b.parentElement) b.parentElement.hidden = !left;
      b.textContent = `Show ${left > this.atOnce ? `the next ${countText(this.atOnce)} of ` : ''}${plural(left, 'more violation')}`;
    }
  }

  more() {
    const {app} = this, {data} = app, {marks} = data, first = this.shown;
    this.shown = Math.min(first + this.atOnce, marks.n);
    const rows = document.createDocumentFragment(), marksOf = new Map();
    for (const mark of queryAll('abbr.level[title]')) marksOf.set(mark.textContent, mark); // they say what a level means
    for (let p = first; p < this.shown; p++) {
      const i = marks.order.items[p], [level, property] = marks.kinds[marks.kind[i]], clients = marks.clients(i).map((c) => data.clients[c]);
      const row = element('li'), button = element('button');
      button.type = 'button';
      button.tabIndex = -1;
      button.append(element('span', exactText(marks.at[i]), 'when'), marksOf.has(level) ? marksOf.get(level).cloneNode(true) : element('span', level, 'level'),
        element('span', `${property} on ${data.keys[marks.key[i]] || '?'}` + (clients.length ? `: ${list(clients)}` : ''), 'text'));
      button.addEventListener('click', () => {
        app.mark(i);
        byId('timeline').scrollIntoView({block: 'start'});
      });
      row.append(button);
      rows.append(row);
    }
    const top = rows.firstElementChild;
    this.list?.append(rows);
    this.say();
    top?.scrollIntoView({block: 'nearest'});
  }
}
