// What a thing is, in words: a few lines for the tip, all of it for the panel.

// element makes an element with text. Text is only ever set as text.
function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

class Details {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.panel = byId('details');
    this.title = byId('details-title');
    this.body = byId('details-body');
    byId('close').addEventListener('click', () => app.pin(null));
  }

  // describe tells of a thing: a title, lines of [name, value], and for the panel
  // more elements. A value that is an array lists lines of the history.
  describe(item) {
    const of = {
      attempt: this.attempt, write: this.write, pause: this.pause, stored: this.stored, state: this.state, fault: this.fault, violation: this.violation, mark: this.mark, rest: this.rest, range: () => this.app.range.describe(),
    };
    return of[item.kind].call(this, item.i);
  }

  attempt(i) {
    const {data} = this.app, {attempts, leases} = data, l = attempts.lease[i], lines = [];
    const client = data.clients[attempts.client[i]], key = data.keys[attempts.key[i]];
    const returned = attempts.back[i] > 0;
    lines.push(['Acquire', `from ${exactText(attempts.from[i])}, ` + (returned ? `${outcomeNames[attempts.outcome[i]]} after ${spanText(attempts.to[i] - attempts.from[i])}` : 'never returned')]);
    if (attempts.error[i]) lines.push(['Error', data.texts[attempts.error[i]]]);
    if (attempts.token[i]) lines.push(['Token', attempts.token[i] + (attempts.tries[i] > 1 ? `, of try ${attempts.tries[i]}` : '')]);
    if (attempts.log[i]) lines.push(['Log', data.texts[attempts.log[i]]]);
    if (l >= 0) {
      if (leases.part[l]) lines.push(['Granted', data.texts[leases.part[l]]]);
      if (leases.fence[l]) lines.push(['Fencing token', String(leases.fence[l])]);
      const hold = leases.hold[l] - attempts.to[i];
      lines.push(['Valid until', exactText(leases.until[l]) + ` (${spanText(leases.until[l] - attempts.to[i])} after the grant)`]);
      lines.push(['Held', hold > 0 ? `until ${exactText(leases.hold[l])}, for ${spanText(hold)}` : 'never: it was over before the acquire returned']);
      for (const g of leases.grants.get(l) || []) lines.push(['Extended', `${exactText(g.from)}, valid until ${exactText(g.to)}`]);
      if (leases.enter[l] <= leases.leave[l]) {
        const over = leases.leave[l] - Math.max(leases.until[l], leases.enter[l]);
        lines.push(['Critical section', `${exactText(leases.enter[l])} to ${exactText(leases.leave[l])}` + (over > 0 ? `, ${spanText(over)} past the lease` : '')]);
      }
      lines.push(['Release', Number.isNaN(leases.release[l]) ? 'never' : exactText(leases.release[l])]);
    }
    lines.push(['Lines', returned ? [attempts.index[i], attempts.index[i] + attempts.back[i]] : [attempts.index[i]]]);
    return {title: `${client} acquires ${key}: ${outcomeNames[attempts.outcome[i]]}`, lines, brief: 4, more: () => [this.votesLater(i)]};
  }

  // votesLater tells the replies once they are read.
  votesLater(a) {
    const box = element('div', 'Reading the replies of the masters…');
    box.setAttribute('aria-live', 'polite');
    this.app.withVotes(() => box.replaceChildren(this.votes(a)));
    return box;
  }

  // votes tells the replies to the last try, and folds those to earlier ones.
  votes(a) {
    const {data} = this.app, {attempts, votes} = data, box = element('div'), last = [], earlier = [];
    for (let i = attempts.vote[a]; i < attempts.vote[a + 1]; i++) (votes.tried[i] ? earlier : last).push(i);
    if (last.length) box.append(element('h3', 'Replies of the masters'), this.replies(last, false));
    if (earlier.length) {
      const more = element('details');
      more.append(element('summary', `${countText(earlier.length)} replies to ${countText(attempts.tries[a] - 1)} earlier tries`));
      more.addEventListener('toggle', () => { if (more.childElementCount < 2) more.append(this.replies(earlier.slice(-500), true)); });
      box.append(more);
    }
    return box;
  }

  replies(list, tries) {
    const {data} = this.app, {votes} = data, table = element('table'), head = element('tr');
    const slowest = list.reduce((most, i) => Math.max(most, votes.took[i]), 1);
    for (const name of [...(tries ? ['Try'] : []), 'Master', 'Command', 'Reply', 'At', 'Took', '']) head.append(element('th', name));
    table.append(head);
    for (const i of list) {
      const row = element('tr'), reply = votes.code[i] % 3, bar = element('td'), meter = element('meter');
      meter.max = slowest;
      meter.value = votes.took[i];
      bar.append(meter);
      const answer = element('td', reply === 1 && votes.error[i] ? 'error' : replyNames[reply], ['yes', 'no', 'none'][reply]);
      if (votes.error[i]) answer.title = data.texts[votes.error[i]];
      if (tries) row.append(element('td', String(votes.tried[i])));
      row.append(element('td', data.masters[votes.master[i]] || '?'), element('td', commandNames[Math.floor(votes.code[i] / 3)]), answer, element('td', exactText(votes.at[i])), element('td', spanText(votes.took[i]), 'n'), bar);
      table.append(row);
    }
    return table;
  }

  write(i) {
    const {data} = this.app, {writes, attempts, leases} = data, a = writes.attempt[i];
    /** @type {[string, any][]} */
    const lines = [['Write', effectNames[writes.effect[i]]], ['At', exactText(writes.at[i])], ['Value', String(writes.value[i])]];
    if (writes.fence[i]) lines.push(['Fencing token', String(writes.fence[i])]);
    lines.push(['Resource', writes.twin[i] ? 'the twin that checks fencing tokens' : 'the plain one']);
    if (a >= 0) {
      lines.push(['Token', attempts.token[a]]);
      const l = attempts.lease[a];
      if (l >= 0) lines.push(['Its lease', `valid until ${exactText(leases.until[l])}` + (writes.at[i] > leases.until[l] ? `: ${spanText(writes.at[i] - leases.until[l])} before this write` : '')]);
    }
    lines.push(['Line', [writes.index[i]]]);
    return {title: `${data.clients[writes.client[i]] || 'unknown client'} writes ${data.keys[writes.key[i]] || ''}`, lines, brief: 3, more: () => a >= 0 ? [this.goTo('Show its acquire', {kind: 'attempt', i: a})] : []};
  }

  pause(i) {
    const p = this.app.data.pauses[i], lines = [['From', exactText(p.from)], ['For', spanText(p.to - p.from)]];
    if (p.point) lines.push(['Stopped', p.point]);
    return {title: `${this.app.data.clients[p.client]} stood still`, lines, brief: 3};
  }

  stored(i) {
    const {data} = this.app, {stored, attempts} = data, a = stored.attempt[i];
    const lines = [['From', exactText(stored.from[i])], ['Until', `${exactText(stored.to[i])}: ${endingNames[stored.ending[i]]}`]];
    lines.push(['Token', stored.token[i] ? data.texts[stored.token[i]] : attempts.token[a]]);
    if (a >= 0) lines.push(['Acquire', this.app.lanes.ofLease(i) ? 'granted by this and other votes' : attempts.lease[a] >= 0 ? 'an earlier try of one that was granted' : outcomeNames[attempts.outcome[a]]]);
    const whose = a >= 0 ? `a token of ${data.clients[attempts.client[a]]}` : 'a token';
    return {title: `${data.masters[stored.master[i]]} stored ${whose} under ${data.keys[stored.key[i]]}`, lines, brief: 4, more: () => a >= 0 ? [this.goTo('Show its acquire', {kind: 'attempt', i: a})] : []};
  }

  state(i) {
    const s = this.app.data.states[i];
    return {title: `${this.app.data.masters[s.master]} was ${s.down ? 'down' : 'paused'}`, lines: [['From', exactText(s.from)], ['For', spanText(s.to - s.from)]], brief: 2};
  }

  fault(i) {
    const {data} = this.app, f = data.faults[i], lines = [];
    const masters = f.masters.map((m) => data.masters[m]), clients = f.clients.map((c) => data.clients[c]);
    if (masters.length) lines.push(['Masters', list(masters)]);
    if (clients.length) lines.push(['Clients', list(clients)]);
    lines.push(['From', exactText(f.from)], ['For', spanText(f.to - f.from)], ['Took effect', f.bit ? 'yes' : 'no effect was seen']);
    if (f.evidence) lines.push(['Evidence', f.evidence]);
    if (f.problem) lines.push(['Healing failed', f.problem]);
    if (f.params) lines.push(['Parameters', f.params]);
    return {title: `${f.name} (fault ${f.id})`, lines, brief: 6};
  }

  violation(i) {
    const {data} = this.app, v = data.violations[i], lines = [['Key', data.keys[v.key] || '?'], ['From', exactText(v.at)], ['For', v.until > v.at ? spanText(v.until - v.at) : 'a moment']];
    if (v.clients.length) lines.push(['Clients', list(v.clients.map((c) => data.clients[c]))]);
    if (v.ops.length) lines.push(['Lines', v.ops]);
    return {title: `${v.level} ${v.property}: ${v.summary}`, lines, brief: 3, more: () => {
      const out = [];
      if (v.reason.length && v.when.length === v.reason.length) {
        this.app.stepper = new Stepper(this.app, v);
        out.push(element('h3', 'Why'), ...this.app.stepper.elements());
      } else if (v.reason.length) {
        const steps = element('ol');
        for (const step of v.reason) steps.append(element('li', step));
        out.push(element('h3', 'Why'), steps);
      }
      const box = element('p', undefined, 'more');
      for (const a of v.attempts) box.append(this.button(`Acquire of ${data.clients[data.attempts.client[a]]}`, {kind: 'attempt', i: a}));
      for (const id of v.faults) {
        const at = data.faults.findIndex((f) => f.id === id);
        if (at >= 0) box.append(this.button(`${data.faults[at].name} (fault ${id})`, {kind: 'fault', i: at}));
      }
      const copy = element('button', 'Copy link');
      copy.type = 'button';
      copy.id = 'copy-link';
      copy.addEventListener('click', () => this.app.address.copy(copy));
      box.append(copy);
      out.push(box);
      return out;
    }};
  }

  // rest is the clients that are folded away.
  rest() {
    return {title: `${plural(this.app.lanes.folded, 'client')} without a part in this violation`, lines: [['Click', 'shows them']], brief: 1};
  }

  // mark is a violation beyond those that the report explains.
  mark(i) {
    const {data} = this.app, {marks} = data, [level, property] = marks.kinds[marks.kind[i]], clients = marks.clients(i);
    /** @type {[string, any][]} */
    const lines = [['Key', data.keys[marks.key[i]] || '?'], ['From', exactText(marks.at[i])], ['For', marks.until[i] > marks.at[i] ? spanText(marks.until[i] - marks.at[i]) : 'a moment']];
    if (clients.length) lines.push(['Clients', list(clients.map((c) => data.clients[c]))]);
    lines.push(['Line', [marks.op[i]]], ['Reason', 'only the first violations of a property are explained']);
    return {title: `${level} ${property}`, lines, brief: 6};
  }

  button(text, item) {
    const b = element('button', text);
    b.type = 'button';
    b.addEventListener('click', () => this.app.pin(item));
    return b;
  }

  goTo(text, item) {
    const p = element('p', undefined, 'more');
    p.append(this.button(text, item));
    return p;
  }

  show(item) {
    this.panel.hidden = !item;
    this.panel.parentElement?.classList.toggle('open', !!item);
    this.body.replaceChildren();
    if (!item) return;
    const d = this.describe(item), dl = element('dl');
    this.title.textContent = d.title;
    for (const [name, value] of d.lines) {
      const dd = element('dd', Array.isArray(value) ? undefined : value);
      if (Array.isArray(value)) dd.append(this.app.data.lines.links(value, ' of the history'));
      dl.append(element('dt', name), dd);
    }
    this.body.append(dl, ...(d.more ? d.more() : []));
    this.panel.scrollTop = 0;
  }

  // tip fills the tip with the beginning of what the panel would show.
  tip(box, item) {
    const d = this.describe(item);
    box.replaceChildren(element('b', d.title));
    for (const [name, value] of d.lines.slice(0, d.brief)) box.append(element('span', `${name}: ${Array.isArray(value) ? list(value.map(String)) + ' of the history' : value}`));
    if (item.others > 0) box.append(element('span', `and ${countText(item.others)} more here: zoom in`));
  }
}
