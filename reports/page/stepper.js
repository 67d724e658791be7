// Goes through the reason of a violation step by step: the step in the panel, its time in the
// timeline, and what each master stored and each client believed then.

class Stepper {
  /** @param {App} app */
  constructor(app, violation) {
    this.app = app;
    this.v = violation;
    this.at = -1; // no step yet
    this.steps = element('ol', undefined, 'steps');
    violation.reason.forEach((text, i) => {
      const item = element('li');
      const b = element('button', text);
      b.type = 'button';
      b.tabIndex = -1; // the bar is the one tab stop for all of them
      b.addEventListener('click', () => this.go(i));
      item.append(b);
      this.steps.append(item);
    });
    this.bar = element('div', undefined, 'stepper');
    this.bar.setAttribute('role', 'group');
    this.bar.setAttribute('aria-label', 'Steps of the reason');
    const button = (text, name, f) => {
      const b = element('button', text);
      b.type = 'button';
      b.dataset.step = name;
      b.setAttribute('aria-label', name + ' step');
      b.addEventListener('click', f);
      return b;
    };
    this.slider = element('input');
    this.slider.type = 'range';
    this.slider.min = 1;
    this.slider.max = violation.reason.length;
    this.slider.value = 1;
    this.slider.setAttribute('aria-label', 'Step');
    this.slider.addEventListener('input', () => this.go(+this.slider.value - 1));
    this.count = element('span', '', 'count');
    this.bar.append(button('|◀', 'first', () => this.go(0)), button('◀', 'previous', () => this.go(this.at - 1)), this.slider,
      button('▶', 'next', () => this.go(this.at + 1)), button('▶|', 'last', () => this.go(violation.reason.length - 1)), this.count);
    this.state = element('div', undefined, 'state');
  }

  elements() { return [this.bar, this.steps, this.state]; }

  go(to) {
    const {app, v} = this;
    this.at = Math.min(Math.max(to, 0), v.reason.length - 1);
    this.slider.value = this.at + 1;
    this.slider.setAttribute('aria-valuetext', v.reason[this.at]);
    this.count.textContent = `${this.at + 1} of ${v.reason.length}`;
    [...this.steps.children].forEach((item, i) => item.classList.toggle('current', i === this.at));
    this.steps.children[this.at].scrollIntoView({block: 'nearest'});
    const when = v.when[this.at];
    app.setCursor(when);
    this.state.replaceChildren(element('h3', `At ${exactText(when)}`), this.table(when));
  }

  // table is what masters stored and clients believed at a time.
  table(at) {
    const {app, v} = this, {data} = app, table = element('table'), row = (name, text, className) => {
      const r = element('tr'), head = element('th', name);
      head.scope = 'row';
      r.append(head, element('td', text, className));
      table.append(r);
    };
    const clients = app.lanes.focus ? [...app.lanes.focus] : data.clients.map((_, i) => i);
    for (const c of clients) row(data.clients[c], this.belief(c, at));
    data.masters.forEach((name, m) => row(name, this.stored(m, v.key, at)));
    return table;
  }

  // belief is what a client relies on at a time.
  belief(client, at) {
    const {data} = this.app, {attempts, leases} = data, said = [];
    for (const p of data.pauses) if (p.client === client && p.from <= at && at < p.to) said.push('stands still');
    for (let l = 0; l < leases.n; l++) {
      const a = leases.attempt[l];
      if (attempts.client[a] !== client || attempts.key[a] !== this.v.key || attempts.to[a] > at) continue;
      let until = leases.until[l]; // of the latest extension that it knew of
      const first = (leases.grants.get(l) || []).filter((g) => g.from <= at).at(-1);
      if (first) until = first.to;
      if (leases.release[l] <= at && !(leases.enter[l] <= at && at < leases.leave[l])) continue;
      if (at < until) said.push(`relies on ${data.keys[this.v.key]} until ${exactText(until)}`);
      if (leases.enter[l] <= at && at < leases.leave[l]) said.push(at < until ? 'is in its critical section' : `is in its critical section, ${spanText(at - until)} after its lease`);
    }
    for (let a = 0; a < attempts.n && attempts.from[a] <= at; a++) {
      if (attempts.client[a] === client && attempts.key[a] === this.v.key && at < attempts.to[a]) said.push('asks for it');
    }
    return said.join(', ') || 'does not rely on it';
  }

  // stored is what a master stores at a time.
  stored(master, key, at) {
    const {data} = this.app, {stored, attempts} = data;
    for (const s of data.states) if (s.master === master && s.from <= at && at < s.to && s.down) return 'is down';
    const paused = data.states.some((s) => s.master === master && s.from <= at && at < s.to) ? 'paused, ' : '';
    for (let i = 0; i < stored.n; i++) {
      if (stored.master[i] !== master || stored.key[i] !== key || !(stored.from[i] <= at && at < stored.to[i])) continue;
      const a = stored.attempt[i];
      return paused + `stores ${a >= 0 ? 'the token of ' + data.clients[attempts.client[a]] : 'a token'}, until ${exactText(stored.to[i])}`;
    }
    return paused + 'stores nothing';
  }
}
