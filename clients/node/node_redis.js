// A textbook lock over node-redis, on the first master: SET NX PX, and compare-and-delete.
const { createClient } = require('redis');
const { randomUUID } = require('crypto');
const lines = require('readline').createInterface({ input: process.stdin });

const COMPARE_AND_DELETE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let redis, ttl;

const ops = {
  async init(request) {
    ttl = request.ttl_ms;
    redis = createClient({ url: `redis://${request.masters[0]}`, socket: { reconnectStrategy: () => 20 }, disableOfflineQueue: true });
    redis.on('error', () => {}); // it reconnects by itself
    await redis.connect();
    return { type: 'ok', can: ['shared'], masters: 1, library: 'node-redis ' + require('redis/package.json').version };
  },
  async acquire(request) {
    const token = randomUUID();
    console.log(JSON.stringify({ type: 'token', id: request.id, token })); // several clients may share the process
    for (const end = Date.now() + request.within_ms; Date.now() < end; await sleep(50)) {
      const set = await redis.set(request.key, token, { NX: true, PX: ttl }).catch(() => null);
      if (set) return { type: 'ok', token };
    }
    return { type: 'fail', error: 'not acquired in time' };
  },
  async release(request) {
    const deleted = await redis.eval(COMPARE_AND_DELETE, { keys: [request.key], arguments: [request.token] });
    return deleted ? { type: 'ok' } : { type: 'fail', error: 'not held any more' };
  },
  async exit() { process.exit(0); },
};

lines.on('line', async (line) => { // node-redis waits for a reply for ever
  const request = JSON.parse(line);
  const timeout = sleep((request.within_ms ?? 0) + (ttl ?? 5000)).then(() => { throw new Error('no reply in time'); });
  const answer = await Promise.race([ops[request.op](request), timeout]).catch((e) => ({ type: 'info', error: String(e) }));
  console.log(JSON.stringify({ ...answer, id: request.id }));
});
lines.on('close', () => process.exit(0));
