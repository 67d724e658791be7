const seconds = (s) => s < 120 ? s.toFixed(1) + ' s' : Math.floor(s / 60) + ' min ' + Math.floor(s % 60) + ' s';
const number = (n) => n.toLocaleString('en');
const make = (name, text, attributes) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  return e;
};
const draw = (name, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};

const wide = 960, high = 130;

// rate draws the grants as bars, faults as bands behind them, and the first violation as a line.
function rate(l) {
  const { seconds: each, bins } = l.grants, end = Math.max(bins.length * each, 1), most = Math.max(1, ...bins);
  const x = (s) => Math.min(s, end) / end * wide, parts = [];
  for (const f of l.faults) parts.push(draw('rect', { class: 'band', x: x(f.from), width: Math.max(1, x(f.to) - x(f.from)), y: 0, height: high }));
  bins.forEach((n, i) => parts.push(draw('rect', { class: 'bar', x: i * each / end * wide + .5, width: Math.max(.5, each / end * wide - 1), y: high - n / most * (high - 6), height: n / most * (high - 6) })));
  if (l.first !== null) parts.push(draw('rect', { class: 'violation', x: x(l.first) - 1, width: 2, y: 0, height: high }));
  for (const [at, anchor] of [[0, 'start'], [end / 2, 'middle'], [end, 'end']]) {
    const t = draw('text', { x: x(at), y: high + 18, 'text-anchor': anchor });
    t.textContent = seconds(at);
    parts.push(t);
  }
  byId('grants', SVGElement).replaceChildren(...parts);
  byId('grants-text').textContent = 'Leases granted ' + (each === 1 ? 'in each second' : 'in each ' + each + ' s') + ', at most ' + number(most) + '. Shaded: a fault is in force.' + (l.first !== null ? ' Red line: the first L2 violation, at ' + l.first.toFixed(3) + ' s.' : '');
}

function faults(l) {
  const force = l.faults.filter((f) => !f.healed);
  byId('force').replaceChildren(...(force.length ? force.map((f) => make('li', 'for ' + seconds(Math.max(0, l.elapsed - f.from)) + ': ' + f.text)) : [make('li', 'none')]));
  const kinds = new Map();
  for (const f of l.faults) kinds.set(f.kind, [...(kinds.get(f.kind) || []), f]);
  byId('faults').replaceChildren(...[...kinds].map(([kind, of]) => {
    const row = make('tr');
    row.append(make('th', kind, { scope: 'row' }), ...[of.length, of.filter((f) => f.healed).length, of.filter((f) => f.effective).length].map((n) => make('td', number(n), { class: 'n' })),
      make('td', 'at ' + seconds(of.at(-1).from) + ': ' + of.at(-1).text));
    return row;
  }));
}

function show(l) {
  const says = {
    running: 'It is going on.', judging: 'It is recorded, and is being judged.', done: 'It is over: here is ',
    silent: 'Nothing was recorded for ' + Math.round(l.silent || 0) + ' s: either all clients wait, or it was cut off. lockpick check judges what there is.',
    broken: 'It cannot be read: ' + l.problem,
  };
  byId('live').dataset.phase = l.phase;
  byId('live').className = l.violations ? 'violated' : '';
  byId('state').textContent = (l.violations ? '✕ ' + number(l.violations) + (l.violations === 1 ? ' L2 violation' : ' L2 violations') : 'no L2 violation') + (l.phase === 'done' ? '' : ' so far');
  const what = byId('what');
  if (what.dataset.phase !== l.phase || l.phase === 'silent') { // what does not change is not announced again
    what.dataset.phase = l.phase;
    what.textContent = says[l.phase];
    if (l.report) what.append(make('a', 'its report', { href: l.report }));
    else if (l.phase === 'done') what.append('no report');
  }
  const counts = [['elapsed', seconds(l.elapsed)], ['lock', l.lock], ['driver', l.driver], ['masters', number(l.masters)], ['clients', number(l.clients)],
    ['leases granted', number(l.counts.granted)], ['acquires refused', number(l.counts.refused)], ['extensions granted', number(l.counts.extended)],
    ['writes applied', number(l.counts.writes)], ['replies of masters', number(l.counts.votes)], ['commands without a reply', number(l.counts.no_reply)], ['lines of the history', number(l.counts.operations)]];
  byId('counts').replaceChildren(...counts.map(([name, value]) => { const d = make('div'); d.append(make('dt', name), make('dd', value)); return d; }));
  rate(l);
  faults(l);
}

const events = new EventSource(byId('live').dataset.events || '');
events.onmessage = (e) => {
  const l = JSON.parse(e.data);
  show(l);
  if (l.phase === 'done' || l.phase === 'broken') events.close();
};
events.onerror = () => { byId('what').textContent = 'The server does not answer: is lockpick serve still running?'; byId('what').dataset.phase = ''; };
