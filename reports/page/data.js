// The data of the run: packed columns become typed arrays with absolute times in
// microseconds (see pack.go). What never happened is NaN.

// withData calls start with the page's data. Much of it is deflated, and written as text in base64.
function withData(start) {
  const data = JSON.parse(byId('data').textContent || '');
  if (typeof data !== 'string') return start(data);
  return inflate(data).then(start, () => {
    const help = document.createElement('p');
    help.textContent = 'This browser cannot unpack the timeline of a run as long as this: it needs DecompressionStream, which browsers have had since 2023.';
    query('#timeline .stage').replaceChildren(help);
  });
}

// inflateVotes reads the votes that stand apart.
const inflateVotes = async (attempts) => readVotes(await inflate(JSON.parse(byId('votes').textContent || '')), attempts);

async function inflate(text) {
  let bytes;
  if ('fromBase64' in Uint8Array) bytes = /** @type {any} */ (Uint8Array).fromBase64(text);
  else {
    const raw = atob(text);
    bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  }
  return new Response(new Blob([bytes]).stream().pipeThrough(new (/** @type {any} */ (window).DecompressionStream)('deflate-raw'))).json();
}

/**
 * readData returns what the page draws. Of the packed data only the lists have types here: their elements are as encode.go writes them.
 * @param {Object<string, any> & {clients: string[], masters: string[], keys: string[], texts: string[], faults: any[], violations: any[], pauses: any[], states: any[], clocks: any[]}} packed
 */
function readData(packed) {
  const attempts = readAttempts(packed.attempts);
  return {
    end: packed.end, ttl: packed.ttl, quorum: packed.quorum, clients: packed.clients, masters: packed.masters, keys: packed.keys,
    texts: packed.texts, faults: packed.faults, violations: packed.violations, attempts, leases: readLeases(packed, attempts),
    votes: packed.votes && readVotes(packed.votes, attempts), // null: they stand apart, until somebody asks for them
    stored: readStored(packed.stored), writes: readWrites(packed.writes), marks: readMarks(packed.marks), lines: new Lines(packed.lines),
    pauses: packed.pauses.map(([client, from, to, point]) => ({client, from, to, point: packed.texts[point]})),
    states: packed.states.map(([master, from, to, is]) => ({master, from, to, down: is === 1})),
    clocks: packed.clocks.map(([master, at, offset]) => ({master, at, offset})),
    faultByID: new Map(packed.faults.map((f) => [f.id, f])),
  };
}

// sums undoes differences: each value was written as the step from the one before.
function sums(column) {
  const out = new Float64Array(column ? column.length : 0);
  let at = 0;
  for (let i = 0; i < out.length; i++) out[i] = at += column[i];
  return out;
}

const ints = (column) => Int32Array.from(column || []);

function readAttempts(p) {
  const n = (p.client || []).length;
  const a = {
    n, client: ints(p.client), key: ints(p.key), from: sums(p.at), to: new Float64Array(n), reach: new Float64Array(n),
    outcome: ints(p.outcome), index: sums(p.index), back: ints(p.return), token: p.token || [], error: ints(p.error), tries: ints(p.tries), log: ints(p.log),
    lease: new Int32Array(n).fill(-1), vote: new Int32Array(n + 1),
  };
  for (let i = 0; i < n; i++) {
    a.to[i] = a.reach[i] = a.from[i] + p.took[i];
    a.vote[i + 1] = a.vote[i] + p.votes[i];
  }
  return a;
}

// readLeases also tells each attempt how far right what followed from it reaches.
function readLeases(packed, attempts) {
  const p = packed.leases, attempt = sums(p.attempt), n = attempt.length;
  const since = (column) => Float64Array.from(column || [], (v, i) => v < 0 ? NaN : attempts.to[attempt[i]] + v);
  const l = {
    n, attempt, until: Float64Array.from(p.until || [], (v, i) => attempts.to[attempt[i]] + v), hold: since(p.hold), release: since(p.release),
    enter: since(p.enter), leave: since(p.leave), fence: p.fence || [], part: p.part || [], share: p.share || [], depth: new Uint8Array(n), grants: new Map(), holds: new Map(),
  };
  const gather = (rows, into) => {
    for (const [lease, from, to] of rows) {
      if (!into.has(lease)) into.set(lease, []);
      into.get(lease).push({from, to});
    }
  };
  gather(packed.grants, l.grants);
  gather(packed.holds, l.holds);
  const held = new Map(); // by client and key: the leases that may not be over
  for (let i = 0; i < n; i++) {
    const a = attempt[i], owner = attempts.client[a] + ' ' + attempts.key[a];
    attempts.lease[a] = i;
    const outer = (held.get(owner) || []).filter((o) => l.hold[o] > attempts.to[a]);
    l.depth[i] = Math.min(outer.length, 255);
    held.set(owner, [...outer, i]);
    for (const at of [l.until[i], l.leave[i], l.release[i]]) if (at > attempts.reach[a]) attempts.reach[a] = at;
  }
  return l;
}

function readVotes(p, attempts) {
  const n = (p.master || []).length;
  const v = {n, master: ints(p.master), code: ints(p.code), at: new Float64Array(n), took: Float64Array.from(p.took || []), error: ints(p.error), tried: ints(p.try)};
  for (let a = 0; a < attempts.n; a++) {
    for (let i = attempts.vote[a]; i < attempts.vote[a + 1]; i++) v.at[i] = attempts.from[a] + p.at[i];
  }
  return v;
}

function readStored(p) {
  const from = sums(p.from);
  return {
    n: from.length, master: ints(p.master), key: ints(p.key), attempt: ints(p.attempt), token: ints(p.token), from, to: from.map((at, i) => at + p.took[i]), ending: ints(p.ending),
  };
}

function readWrites(p) {
  const at = sums(p.at);
  return {
    n: at.length, attempt: ints(p.attempt), client: ints(p.client), key: ints(p.key), at, effect: ints(p.effect), twin: ints(p.twin),
    value: p.value || [], fence: p.fence || [], index: ints(p.index),
  };
}

// readMarks reads the violations that have no reason of their own.
function readMarks(p) {
  const at = sums(p.at), n = at.length, client = ints(p.client), first = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) first[i + 1] = first[i] + p.clients[i];
  const until = at.map((t, i) => t + p.took[i]);
  return {
    n, kinds: p.kinds, kind: ints(p.kind), key: ints(p.key), at, until, op: ints(p.op),
    clients: (i) => Array.from(client.subarray(first[i], first[i + 1])),
    order: new Order(Int32Array.from({length: n}, (_, i) => i), (i) => at[i], (i) => until[i]),
  };
}

// Order finds what lies in a window among items that are sorted by their
// beginning and may be long. It keeps, for each position, how far right anything
// up to it reaches; that never falls, so both ends of the window are found by
// halving.
class Order {
  constructor(items, from, reach) {
    this.items = items;
    this.from = from;
    this.furthest = new Float64Array(items.length);
    let furthest = -Infinity;
    for (let i = 0; i < items.length; i++) {
      furthest = Math.max(furthest, reach(items[i]));
      this.furthest[i] = furthest;
    }
  }

  // first is the first position that something at or after `at` may have.
  first(at) {
    let lo = 0, hi = this.items.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.furthest[mid] < at) lo = mid + 1; else hi = mid;
    }
    return lo;
  }

  // last is the position behind the last item that begins at or before `at`.
  last(at) {
    let lo = 0, hi = this.items.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.from(this.items[mid]) <= at) lo = mid + 1; else hi = mid;
    }
    return lo;
  }
}

// orders sorts numbered rows into one Order for each owner (client, master).
function orders(n, owners, owner, from, reach) {
  const items = Array.from({length: owners}, () => /** @type {number[]} */ ([]));
  for (let i = 0; i < n; i++) if (owner(i) >= 0) items[owner(i)].push(i);
  return items.map((list) => new Order(Int32Array.from(list), from, reach));
}
