// A situation is shown if its text fits, and if one of its cells has the outcome that was asked for.
table('row', 'situations', ['search', 'outcome'], (row) => {
  const outcome = value('outcome'), marks = queryAll('.l .mark', HTMLElement, row);
  for (const mark of marks) mark.classList.toggle('dim', outcome !== '' && mark.dataset.outcome !== outcome);
  return hasText(row) && (outcome === '' || marks.some((mark) => mark.dataset.outcome === outcome));
});
