const byId = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll('.row')];

function toggle(row, open) {
  row.querySelector('.open').setAttribute('aria-expanded', open);
  row.querySelector('.more').hidden = !open;
}

// A situation is shown if its text fits, and if one of its cells has the outcome that was asked for.
function filter() {
  const text = byId('search').value.trim().toLowerCase().split(/\s+/);
  const outcome = byId('outcome').value;
  let shown = 0;
  for (const row of rows) {
    const marks = [...row.querySelectorAll('.l .mark')];
    for (const mark of marks) mark.classList.toggle('dim', outcome !== '' && mark.dataset.outcome !== outcome);
    const fits = text.every((word) => row.dataset.search.includes(word)) && (outcome === '' || marks.some((mark) => mark.dataset.outcome === outcome));
    row.hidden = !fits;
    if (fits) shown++;
  }
  for (const group of document.querySelectorAll('.matrix .heading')) {
    let next = group.nextElementSibling;
    while (next && next.classList.contains('row') && next.hidden) next = next.nextElementSibling;
    group.hidden = !(next && next.classList.contains('row'));
  }
  byId('shown').textContent = shown === rows.length ? '' : shown + ' of ' + rows.length + ' situations are shown.';
}

function show() {
  const row = location.hash && byId(location.hash.slice(1));
  if (row && row.classList.contains('row')) toggle(row, true);
}

for (const row of rows) row.querySelector('.open').addEventListener('click', () => toggle(row, row.querySelector('.more').hidden));
for (const id of ['search', 'outcome']) byId(id).addEventListener('input', filter);
byId('all').addEventListener('click', () => {
  const open = rows.some((row) => row.querySelector('.more').hidden);
  rows.forEach((row) => toggle(row, open));
  byId('all').textContent = open ? 'Close all' : 'Open all';
});
addEventListener('hashchange', show);
show();
