// A claim is shown if its text, its outcome and at least one of its marks fit the filter.
const filters = ['level', 'found', 'outcome', 'driver'];
table('claim', 'claims', ['search', ...filters], (row) => {
  const [level, found, outcome, driver] = filters.map(value);
  let marks = 0;
  for (const mark of queryAll('.l .mark', HTMLElement, row)) {
    const fits = (!level || mark.parentElement?.dataset.level === level) && (!found || mark.dataset.found === found) && (!driver || mark.dataset.driver === driver);
    mark.classList.toggle('dim', !fits);
    if (fits) marks++;
  }
  return hasText(row) && (!outcome || row.dataset.outcomes.split(' ').includes(outcome)) && (marks > 0 || !(level || found || driver));
});
