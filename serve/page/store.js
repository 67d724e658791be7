const rows = queryAll('.store tbody tr'), boxes = queryAll('.store input[type=checkbox]', HTMLInputElement);

function filter() {
  const words = byId('search', HTMLInputElement).value.trim().toLowerCase().split(/\s+/), verdict = byId('verdict', HTMLSelectElement).value;
  let shown = 0;
  for (const row of rows) {
    row.hidden = !(words.every((w) => (row.dataset.search || '').includes(w)) && (verdict === '' || row.dataset.verdict === verdict));
    if (!row.hidden) shown++;
  }
  byId('shown').textContent = shown === rows.length ? rows.length + ' in all, the newest first' : shown + ' of ' + rows.length + ' are shown';
}

function count() {
  const chosen = boxes.filter((b) => b.checked);
  byId('compare', HTMLButtonElement).disabled = chosen.length !== 2 || chosen.some((b) => b.dataset.kind !== 'run');
  for (const b of queryAll('#delete', HTMLButtonElement)) b.disabled = chosen.length === 0;
}

for (const id of ['search', 'verdict']) byId(id).addEventListener('input', filter);
byId('search').addEventListener('keydown', (e) => { if (e.key === 'Enter') e.preventDefault(); });
for (const box of boxes) box.addEventListener('change', count);
filter();
count();
