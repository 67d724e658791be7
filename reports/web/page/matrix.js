const byId = (id) => document.getElementById(id);

function toggle(row, open) {
  row.querySelector('.open').setAttribute('aria-expanded', open);
  row.querySelector('.more').hidden = !open;
}

// table makes the rows of a class open, close and hide. fits says whether a row is shown, and dims its marks; the inputs
// are the ids of the fields that it goes by, and things is what the rows are called.
function table(kind, things, inputs, fits) {
  const rows = [...document.querySelectorAll('.' + kind)];
  function filter() {
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row);
      if (!row.hidden) shown++;
    }
    for (const group of document.querySelectorAll('.matrix .heading')) {
      let next = group.nextElementSibling;
      while (next && next.classList.contains(kind) && next.hidden) next = next.nextElementSibling;
      group.hidden = !(next && next.classList.contains(kind));
    }
    byId('shown').textContent = shown === rows.length ? '' : shown + ' of ' + rows.length + ' ' + things + ' are shown.';
  }
  function show() {
    const row = location.hash && byId(location.hash.slice(1));
    if (row && row.classList.contains(kind)) toggle(row, true);
  }
  for (const row of rows) row.querySelector('.open').addEventListener('click', () => toggle(row, row.querySelector('.more').hidden));
  for (const id of inputs) if (byId(id)) byId(id).addEventListener('input', filter);
  byId('all').addEventListener('click', () => {
    const open = rows.some((row) => row.querySelector('.more').hidden);
    rows.forEach((row) => toggle(row, open));
    byId('all').textContent = open ? 'Close all' : 'Open all';
  });
  addEventListener('hashchange', show);
  show();
}

const value = (id) => (byId(id) ? byId(id).value : '');
const hasText = (row) => value('search').trim().toLowerCase().split(/\s+/).every((word) => row.dataset.search.includes(word));
