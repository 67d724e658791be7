// Words and numbers, as the page writes them.

const commandNames = ['set', 'extend', 'release', 'write back', 'look'];
const replyNames = ['yes', 'no', 'no reply'];
const outcomeNames = ['granted', 'refused', 'unknown'];
const endingNames = ['still there at the end', 'released', 'its TTL ended', 'lost when the master went down', 'replaced by another token', 'gone, as the master itself said'];
const effectNames = ['applied', 'applied, although one of a later lease had been', 'refused by the storage'];

// momentText writes a time of the run as exactly as a step of the scale needs.
function momentText(us, step) {
  const digits = step >= 1e6 ? 0 : step >= 1e3 ? Math.min(3, Math.ceil(6 - Math.log10(step) - 1e-9)) : 6;
  return (us / 1e6).toFixed(digits) + ' s';
}

const exactText = (us) => momentText(us, 1e3);

function spanText(us) {
  const abs = Math.abs(us);
  const trim = (v, unit) => String(+v.toFixed(2)) + ' ' + unit;
  return abs >= 1e6 ? trim(us / 1e6, 's') : abs >= 1e3 ? trim(us / 1e3, 'ms') : trim(us, 'µs');
}

const shortToken = (token) => token.length > 10 ? token.slice(0, 8) + '…' : token;

const countText = (n) => n.toLocaleString('en-US');

const plural = (n, word) => countText(n) + ' ' + word + (n === 1 ? '' : 's');

// list joins names: a, b and c.
function list(names) {
  return names.length < 2 ? names.join('') : names.slice(0, -1).join(', ') + ' and ' + names[names.length - 1];
}
