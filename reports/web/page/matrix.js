function toggle(row, open) {
  query('.open', HTMLElement, row).setAttribute('aria-expanded', String(open));
  query('.more', HTMLElement, row).hidden = !open;
}

// table makes the rows of a class open, close and hide. fits says whether a row is shown, and dims its marks; the inputs
// are the ids of the fields that it goes by, and things is what the rows are called.
function table(kind, things, inputs, fits) {
  const rows = queryAll('.' + kind);
  function filter() {
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row);
      if (!row.hidden) shown++;
    }
    for (const group of queryAll('.matrix .heading')) {
      let next = /** @type {HTMLElement | null} */ (group.nextElementSibling);
      while (next && next.classList.contains(kind) && next.hidden) next = /** @type {HTMLElement | null} */ (next.nextElementSibling);
      group.hidden = !(next && next.classList.contains(kind));
    }
    byId('shown').textContent = shown === rows.length ? '' : shown + ' of ' + rows.length + ' ' + things + ' are shown.';
  }
  function show() {
    const row = document.getElementById(location.hash.slice(1));
    if (row && row.classList.contains(kind)) toggle(row, true);
  }
  for (const row of rows) query('.open', HTMLElement, row).addEventListener('click', () => toggle(row, query('.more', HTMLElement, row).hidden));
  for (const id of inputs) for (const e of queryAll('#' + id)) e.addEventListener('input', filter);
  byId('all').addEventListener('click', () => {
    const open = rows.some((row) => query('.more', HTMLElement, row).hidden);
    rows.forEach((row) => toggle(row, open));
    byId('all').textContent = open ? 'Close all' : 'Open all';
  });
  addEventListener('hashchange', show);
  show();
}

// value is that of a field or a choice, if the page has it.
const value = (id) => { const e = document.getElementById(id); return e instanceof HTMLInputElement || e instanceof HTMLSelectElement ? e.value : ''; };
const hasText = (row) => value('search').trim().toLowerCase().split(/\s+/).every((word) => row.dataset.search.includes(word));
