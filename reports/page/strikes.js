// A cell of the table of faults and steps shows its faults alone in the table below; pressed again, all.

const strikeCells = queryAll('.strikes button');

function onlyFaults(pressed) {
  const ids = pressed && new Set(pressed.dataset.faults.split(' '));
  let shown = 0;
  const rows = queryAll('.faults tbody tr');
  for (const row of rows) {
    row.hidden = !!ids && !ids.has(row.dataset.fault);
    if (!row.hidden) shown++;
  }
  for (const cell of strikeCells) cell.setAttribute('aria-pressed', String(cell === pressed));
  byId('faults-shown').textContent = ids ? shown + ' of the ' + rows.length + ' faults below are shown: press again for all' : '';
}

for (const cell of strikeCells) cell.addEventListener('click', () => onlyFaults(cell.getAttribute('aria-pressed') === 'true' ? null : cell));
