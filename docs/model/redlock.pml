/*
 * Redlock within small bounds, for Spin: which assumption does mutual exclusion rest on?
 *
 * Two clients acquire one lock once on three masters, one SET at a time, in the order of the
 * masters. Everything that may happen is one transition: a client begins, asks the next master,
 * concludes, or releases; a key expires; real time advances by a tick; a master loses its keys; a
 * client's clock catches up with real time by a tick. Each order of these is tried.
 *
 * Options (spin -D…):
 *   LAGGING   clients read clocks that may stay behind real time without a bound. Without it they
 *             read real time.
 *   FORGETS   one master may lose its key once (a restart without persistence).
 *   QUORUM=n  yes votes for a grant, 2 if not given.
 *   LEVEL=n   what is asserted: 2, no two valid leases (L2); 3, no two clients act as holder (L3),
 *             which is the default.
 */
#define MASTERS 3
#define CLIENTS 2
#define TTL     3   /* of keys and leases, in ticks */
#define HORIZON 8   /* real time stops here */
#define NOBODY  CLIENTS

#ifndef QUORUM
#define QUORUM (MASTERS / 2 + 1)
#endif
#ifndef LEVEL
#define LEVEL 3
#endif

mtype = { idle, asking, holding, released };

byte now;               /* real time */
byte owner[MASTERS];    /* whose token the key has; NOBODY if there is no key */
byte expires[MASTERS];  /* when the key expires, in real time */

mtype phase[CLIENTS];
byte begun[CLIENTS];    /* by the client's clock, when it sent the first SET (distlock, step 1) */
byte next[CLIENTS];     /* the master to ask next */
byte votes[CLIENTS];    /* how many masters said yes */

#ifdef LAGGING
byte clock[CLIENTS];
#define CLOCK(c) clock[c]
#else
#define CLOCK(c) now
#endif

#ifdef FORGETS
bool forgot;
#endif

/* A client acts as holder until it releases, whatever time it is. */
#define ACTS(c)  (phase[c] == holding)
/* Its lease is over a TTL after it began, whatever the client does. */
#define VALID(c) (ACTS(c) && CLOCK(c) - begun[c] < TTL)

#if LEVEL == 2
#define VIOLATED (VALID(0) && VALID(1))
#else
#define VIOLATED (ACTS(0) && ACTS(1))
#endif

inline lose(c) {
	m = 0;
	do
	:: m < MASTERS -> if :: owner[m] == c -> owner[m] = NOBODY; expires[m] = 0 :: else fi; m++
	:: else -> break
	od;
	m = 0
}

/* What a client may do next. */
#define CLIENT(c) \
	:: d_step { phase[c] == idle -> \
		phase[c] = asking; begun[c] = CLOCK(c) } \
	:: d_step { phase[c] == asking && next[c] < MASTERS && owner[next[c]] == NOBODY -> \
		owner[next[c]] = c; expires[next[c]] = now + TTL; votes[c]++; next[c]++ } \
	:: d_step { phase[c] == asking && next[c] < MASTERS && owner[next[c]] != NOBODY && owner[next[c]] != c -> \
		next[c]++ } \
	:: d_step { phase[c] == asking && next[c] == MASTERS && votes[c] >= QUORUM && CLOCK(c) - begun[c] < TTL -> \
		phase[c] = holding; assert(!VIOLATED) } \
	:: d_step { phase[c] == asking && next[c] == MASTERS && !(votes[c] >= QUORUM && CLOCK(c) - begun[c] < TTL) -> \
		phase[c] = idle; next[c] = 0; votes[c] = 0; begun[c] = 0; lose(c) } \
	:: d_step { phase[c] == holding -> \
		phase[c] = released; next[c] = 0; votes[c] = 0; begun[c] = 0; lose(c) }

#ifdef LAGGING
#define CATCH_UP(c) :: d_step { clock[c] < now -> clock[c]++ }
#else
#define CATCH_UP(c)
#endif

#ifdef FORGETS
#define FORGET(i) :: d_step { !forgot && owner[i] != NOBODY -> forgot = true; owner[i] = NOBODY; expires[i] = 0 }
#else
#define FORGET(i)
#endif

#define MASTER(i) \
	:: d_step { owner[i] != NOBODY && now >= expires[i] -> owner[i] = NOBODY; expires[i] = 0 } \
	FORGET(i)

init {
	byte m;
	d_step {
		owner[0] = NOBODY; owner[1] = NOBODY; owner[2] = NOBODY;
		phase[0] = idle; phase[1] = idle
	}
end:	do
	CLIENT(0)
	CLIENT(1)
	MASTER(0)
	MASTER(1)
	MASTER(2)
	:: d_step { now < HORIZON -> now++ }
	CATCH_UP(0)
	CATCH_UP(1)
	od
}
