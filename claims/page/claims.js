const byId = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll('.claim')];

function toggle(row, open) {
  row.querySelector('.open').setAttribute('aria-expanded', open);
  row.querySelector('.more').hidden = !open;
}

// A claim is shown if its text, its outcome and at least one of its marks fit the filter.
function filter() {
  const value = (id) => (byId(id) ? byId(id).value : '');
  const text = value('search').trim().toLowerCase().split(/\s+/);
  const [level, found, outcome, driver] = ['level', 'found', 'outcome', 'driver'].map(value);
  let shown = 0;
  for (const row of rows) {
    let marks = 0;
    for (const mark of row.querySelectorAll('.l .mark')) {
      const fits = (!level || mark.parentNode.dataset.level === level) && (!found || mark.dataset.found === found) && (!driver || mark.dataset.driver === driver);
      mark.classList.toggle('dim', !fits);
      if (fits) marks++;
    }
    const fits = text.every((word) => row.dataset.search.includes(word)) && (!outcome || row.dataset.outcomes.split(' ').includes(outcome)) && (marks > 0 || !(level || found || driver));
    row.hidden = !fits;
    if (fits) shown++;
  }
  for (const group of document.querySelectorAll('.matrix .heading')) {
    let next = group.nextElementSibling;
    while (next && next.classList.contains('claim') && next.hidden) next = next.nextElementSibling;
    group.hidden = !(next && next.classList.contains('claim'));
  }
  byId('shown').textContent = shown === rows.length ? '' : shown + ' of ' + rows.length + ' claims are shown.';
}

function show() {
  const row = location.hash && byId(location.hash.slice(1));
  if (row && row.classList.contains('claim')) toggle(row, true);
}

for (const row of rows) row.querySelector('.open').addEventListener('click', () => toggle(row, row.querySelector('.more').hidden));
for (const id of ['search', 'level', 'found', 'outcome', 'driver']) if (byId(id)) byId(id).addEventListener('input', filter);
byId('all').addEventListener('click', () => {
  const open = rows.some((row) => row.querySelector('.more').hidden);
  rows.forEach((row) => toggle(row, open));
  byId('all').textContent = open ? 'Close all' : 'Open all';
});
addEventListener('hashchange', show);
show();
