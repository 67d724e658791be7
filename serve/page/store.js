const byId = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll('.store tbody tr')], boxes = [...document.querySelectorAll('.store input[type=checkbox]')];

function filter() {
  const words = byId('search').value.trim().toLowerCase().split(/\s+/), verdict = byId('verdict').value;
  let shown = 0;
  for (const row of rows) {
    row.hidden = !(words.every((w) => row.dataset.search.includes(w)) && (verdict === '' || row.dataset.verdict === verdict));
    if (!row.hidden) shown++;
  }
  byId('shown').textContent = shown === rows.length ? rows.length + ' in all, the newest first' : shown + ' of ' + rows.length + ' are shown';
}

function count() {
  const chosen = boxes.filter((b) => b.checked);
  byId('compare').disabled = chosen.length !== 2 || chosen.some((b) => b.dataset.kind !== 'run');
  if (byId('delete')) byId('delete').disabled = chosen.length === 0;
}

for (const id of ['search', 'verdict']) byId(id).addEventListener('input', filter);
byId('search').addEventListener('keydown', (e) => { if (e.key === 'Enter') e.preventDefault(); });
for (const box of boxes) box.addEventListener('change', count);
filter();
count();
