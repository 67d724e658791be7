// The address of the page keeps what is shown, so that a link leads to the same place:
// #v=17&from=1.25&to=3.5&key=k0&client=c2&faults=kill&range=1.5-2.25. v counts violations from 1, times are seconds of the run, and
// without a key, a client or a kind of fault all are shown.

class Address {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    app.view.onChange(() => this.later());
    addEventListener('popstate', () => this.read());
  }

  // later follows the view once it stands still.
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(false), 250);
  }

  text() {
    const {view, pinned, lanes, data, range} = this.app, p = new URLSearchParams();
    if (pinned && pinned.kind === 'violation') p.set('v', pinned.i + 1);
    if (!view.whole) {
      p.set('from', (view.from / 1e6).toFixed(6));
      p.set('to', (view.to / 1e6).toFixed(6));
    }
    if (lanes.key >= 0 && data.keys.length > 1) p.set('key', data.keys[lanes.key]);
    if (lanes.client >= 0) p.set('client', data.clients[lanes.client]);
    if (lanes.faultKind) p.set('faults', lanes.faultKind);
    if (range.some) p.set('range', `${(range.from / 1e6).toFixed(6)}-${(range.to / 1e6).toFixed(6)}`);
    return '#' + p;
  }

  // write puts what is shown into the address, as a new entry of the browser's history or not.
  write(anew) {
    clearTimeout(this.timer);
    const text = this.text();
    if (this.reading || text === (location.hash || '#')) return;
    history[anew ? 'pushState' : 'replaceState'](null, '', text);
  }

  // read shows what the address says, as far as there is such a thing. It returns false if the
  // address says nothing.
  read() {
    const p = new URLSearchParams(location.hash.slice(1)), {app} = this, {data, view} = app;
    const v = Number(p.get('v')) - 1, from = parseFloat(p.get('from') || ''), to = parseFloat(p.get('to') || ''), key = data.keys.findIndex((k) => k === p.get('key'));
    const client = data.clients.findIndex((c) => c === p.get('client')), kind = data.faults.some((f) => f.name === p.get('faults')) ? p.get('faults') : '';
    const known = Number.isInteger(v) && v >= 0 && v < data.violations.length;
    const [first, last] = (p.get('range') || '').split(/(?<=\d)-/).map(parseFloat);
    if (!known && !(from < to) && key < 0 && client < 0 && !kind && !(first < last)) return false;
    this.reading = true;
    app.filter(client, kind);
    app.setKey(data.keys.length > 1 ? key : -1);
    if (known) app.violation(v); else app.pin(null);
    if (from < to) view.jump(from * 1e6, to * 1e6); else if (!known) view.jump(view.start, view.stop);
    if (first < last) app.range.select(first * 1e6, last * 1e6);
    this.reading = false;
    return true;
  }

  // copy copies a link to what is shown.
  copy(button) {
    this.write(false);
    const done = () => { button.textContent = 'Copied'; };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(done, () => { button.textContent = 'The address of the page is the link'; });
    else button.textContent = 'The address of the page is the link';
  }
}
