// Waits, or says what the clocks show, as TestProgramsGoByTheirClocks tells it.
'use strict';
const ok = () => console.log('ok');
const shared = new Int32Array(new SharedArrayBuffer(4));
console.log('ready');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
	const [how, s] = line.split(' ');
	switch (how) {
	case 'clock': console.log(Number(process.hrtime.bigint()) / 1e9, Date.now() / 1e3); break;
	case 'timer': setTimeout(ok, s * 1000 + 1); break;
	case 'interval': { const t = setInterval(() => { clearInterval(t); ok(); }, s * 1000 + 1); break; }
	case 'wait': Atomics.wait(shared, 0, 0, s * 1000); ok(); break;
	}
});
