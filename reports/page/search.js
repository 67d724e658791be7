// Finds acquires: by a client, a key, the beginning of a token, an outcome (refused) or how long
// they took (>100ms). Words together narrow.

class Search {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.field = byId('search', HTMLInputElement);
    this.count = byId('search-count');
    this.found = [];
    this.at = -1;
    this.field.addEventListener('input', () => this.search());
    this.field.addEventListener('keydown', (e) => {
      if (e.key === 'Enter') this.go(this.at + (e.shiftKey ? -1 : 1));
      if (e.key === 'Escape') {
        e.stopPropagation();
        this.field.value = '';
        this.search();
      }
    });
    byId('search-next').addEventListener('click', () => this.go(this.at + 1));
    byId('search-previous').addEventListener('click', () => this.go(this.at - 1));
  }

  // matcher is what a word asks of an acquire.
  matcher(word) {
    const {data} = this.app, {attempts} = data;
    const client = data.clients.indexOf(word), key = data.keys.indexOf(word), outcome = outcomeNames.indexOf(word);
    const longer = word.match(/^([<>])(\d+(?:\.\d+)?)(µs|us|ms|s)$/);
    if (longer) {
      const took = +longer[2] * {µs: 1, us: 1, ms: 1e3, s: 1e6}[longer[3]];
      return (i) => longer[1] === '>' ? attempts.to[i] - attempts.from[i] > took : attempts.to[i] - attempts.from[i] < took;
    }
    if (client >= 0) return (i) => attempts.client[i] === client;
    if (key >= 0) return (i) => attempts.key[i] === key;
    if (outcome >= 0) return (i) => attempts.outcome[i] === outcome && attempts.back[i] > 0;
    return (i) => attempts.token[i].startsWith(word);
  }

  search() {
    const words = this.field.value.trim().split(/\s+/).filter(Boolean), all = words.map((w) => this.matcher(w));
    this.found = [];
    this.at = -1;
    if (all.length) {
      for (let i = 0; i < this.app.data.attempts.n; i++) if (all.every((f) => f(i))) this.found.push(i);
    }
    this.tell();
  }

  tell() {
    const n = this.found.length;
    this.count.textContent = !this.field.value.trim() ? '' : this.at < 0 ? (n ? countText(n) + ' found' : 'none found') : `${countText(this.at + 1)} of ${countText(n)}`;
  }

  // go shows a find: its acquire in the panel, and the window around it.
  go(to) {
    const {app} = this, n = this.found.length;
    if (!n) return;
    this.at = (to + n) % n;
    const i = this.found[this.at], {attempts} = app.data, span = Math.max(attempts.reach[i] - attempts.from[i], app.data.ttl / 10);
    if (!app.lanes.shows(attempts.key[i])) app.setKey(attempts.key[i]);
    if (!app.lanes.lane('client', attempts.client[i])) app.showAllClients();
    app.view.glide(attempts.from[i] - span, attempts.reach[i] + span);
    app.pin({kind: 'attempt', i});
    this.tell();
  }
}
