// The clock shim: other clocks for an unmodified program. Loaded with LD_PRELOAD it shows the
// program clocks that run at another rate, and a wall clock that jumps, and makes the program's
// waits end by these clocks. The harness changes them while the program runs, in one page of
// memory that both map (programclock.go).
//
// A clock is read by raw system calls or by the kernel's own code, without locks, because an
// allocator may read one before libc is ready. Waits go through the functions of libc, so that
// they remain what they are otherwise, such as points at which a thread can be cancelled.
//
// Every function that takes a deadline has to be here. The kernel compares a deadline with the
// true clock, and a program makes it of the clock that it is shown: passed on as it is, it would
// be a wait for ever, or none.

enum {
#if defined(__x86_64__)
	SYS_futex = 202,
#else
	SYS_futex = 98,
#endif
	CLOCK_MONOTONIC_RAW = 4, CLOCK_MONOTONIC_COARSE = 6, CLOCK_BOOTTIME = 7, CLOCK_REALTIME_ALARM = 8,
	CLOCK_BOOTTIME_ALARM = 9, CLOCK_TAI = 11, TIMER_ABSTIME = 1, TIME_UTC = 1, EINVAL = 22, ETIMEDOUT = 110,
	FUTEX_WAIT = 0, FUTEX_WAIT_BITSET = 9, FUTEX_COMMAND = 127, FUTEX_CLOCK_REALTIME = 256,
};

// setting is what the clocks show. Each has a base: what it truly showed when the setting began.
// From then on it gains gain seconds (the bits of a double) in a second; gained is what all of
// them had gained before. offset is how far the wall clock is ahead beside that.
struct setting { u64 skewed; i64 base[4], gained, offset; u64 gain; };
struct page {
	u64 magic, generation, hello, pad[13];
	struct setting setting[2]; // half the generation, odd or even, is the one in force
};
enum { MONO, RAW, BOOT, WALL, CLOCKS };

static struct page *page;
static char page_name[1024];

__attribute__((constructor)) static void begin(void) {
	find_vdso();
	if (!copyenv("LOCKPICK_CLOCKS", page_name, sizeof page_name)) return;
	i64 fd = SYS(SYS_openat, AT_FDCWD, page_name, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0) return;
	i64 at = SYS(SYS_mmap, 0, sizeof(struct page), PROT_READ_WRITE, MAP_SHARED, fd, 0);
	SYS(SYS_close, fd);
	if (at < 0 && at > -4096) return;
	struct page *p = (struct page *)at;
	if (load(p->magic) != MAGIC) return;
	page = p;
	store(p->hello, (u64)SYS(SYS_getpid));
}

// generation is the number of the setting in force, times two. The harness makes it odd, reads the
// true clocks, writes the next setting and makes it even again; meanwhile a program must not read a
// clock, or it would go by the old setting beyond the time at which the new one begins. It waits for
// at most a second, in case that the harness has ended meanwhile.
static u64 generation(void) {
	i64 since = 0;
	for (;;) {
		u64 g = load(page->generation);
		if (!(g & 1)) return g;
		i64 t = nanoseconds(CLOCK_MONOTONIC);
		if (!since) since = t;
		if (t - since > 1000000000) return g;
		SYS(SYS_sched_yield);
	}
}
// unchanged says that what was read since a generation is whole, and of its time.
static int unchanged(u64 g) {
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return g == load(page->generation);
}
static struct setting setting_of(u64 g) {
	struct setting s, *p = &page->setting[g >> 1 & 1];
	s.skewed = load(p->skewed); s.gained = load(p->gained); s.offset = load(p->offset); s.gain = load(p->gain);
	for (int i = 0; i < CLOCKS; i++) s.base[i] = load(p->base[i]);
	return s;
}
static struct setting setting(void) {
	struct setting s;
	u64 g;
	do {
		g = generation();
		s = setting_of(g);
	} while (!unchanged(g));
	return s;
}
static double gain_of(const struct setting *s) {
	double gain;
	__builtin_memcpy(&gain, &s->gain, sizeof gain);
	return gain;
}

// --------------------------------------------------------------------------- clocks and times

// clock_of is which of the clocks an id reads, or -1 for one that counts processor time.
static int clock_of(int id) {
	switch (id) {
	case CLOCK_MONOTONIC: case CLOCK_MONOTONIC_COARSE: return MONO;
	case CLOCK_MONOTONIC_RAW: return RAW;
	case CLOCK_BOOTTIME: case CLOCK_BOOTTIME_ALARM: return BOOT;
	case CLOCK_REALTIME: case CLOCK_REALTIME_COARSE: case CLOCK_REALTIME_ALARM: case CLOCK_TAI: return WALL;
	}
	return -1;
}

// shown is what a clock shows instead of the true t.
static i64 shown(const struct setting *s, int clock, i64 t) {
	if (!s->skewed) return t;
	i64 since = t - s->base[clock];
	if (since > 0) t += (i64)((double)since * gain_of(s)); // a coarse clock may lag behind the base
	return t + s->gained + (clock == WALL ? s->offset : 0);
}

static const i64 never = (i64)4e18;

// truly is the true time at which a clock shows v, if the setting remains. It is rounded up: a
// wait for the rest of a time must not be a wait of 0.
static i64 truly(const struct setting *s, int clock, i64 v) {
	if (!s->skewed || v >= never) return v;
	i64 t = v - s->gained - (clock == WALL ? s->offset : 0);
	double since = (double)(t - s->base[clock]);
	if (since <= 0) return t < 0 ? 0 : t;
	since = since / (1 + gain_of(s)) + 1;
	return since > 2e18 ? never : s->base[clock] + (i64)since;
}

EXPORT int clock_gettime(int id, struct timespec *t) {
	int clock = page ? clock_of(id) : -1;
	if (clock < 0) return (int)result(read_clock(id, t));
	struct setting s;
	u64 g;
	do {
		g = generation();
		int r = read_clock(id, t);
		if (r < 0) return (int)result(r);
		s = setting_of(g);
	} while (!unchanged(g));
	if (!s.skewed) return 0;
	i64 v = shown(&s, clock, t->sec * 1000000000 + t->nsec);
	if (v < 0) v = 0;
	t->sec = v / 1000000000;
	t->nsec = v % 1000000000;
	return 0;
}
EXPORT int gettimeofday(struct timeval *v, void *zone) {
	struct timespec t = {0, 0};
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	v->sec = t.sec;
	v->usec = t.nsec / 1000;
	return 0;
}
EXPORT i64 time(i64 *to) {
	struct timespec t = {0, 0};
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	if (to) *to = t.sec;
	return t.sec;
}
EXPORT int timespec_get(struct timespec *t, int base) {
	return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

// now is what a clock shows.
static i64 now(int id) {
	struct timespec t = {0, 0};
	clock_gettime(id, &t);
	return t.sec * 1000000000 + t.nsec;
}

static i64 in_ns(const struct timespec *t) {
	if (t->sec < 0) return 0;
	return t->sec >= 4000000000 ? never : t->sec * 1000000000 + t->nsec;
}
static struct timespec of_ns(i64 n) {
	struct timespec t = {n / 1000000000, n % 1000000000};
	return t;
}
static i64 after(int id, i64 n) { // the time n from now
	i64 t = now(id);
	return n >= never - t ? never : t + n;
}

// ---------------------------------------------------------------------------------- the waits

extern void *dlsym(void *, const char *) __attribute__((weak));

// ORIGINAL is libc's own function of that name. dlsym tells from its caller which object comes
// next, so that the call must be made here.
#define ORIGINAL(type, name, ...) \
	static type (*original)(__VA_ARGS__); \
	if (!load(original)) store(original, (type (*)(__VA_ARGS__))dlsym((void *)-1, name))

// A wait is cut into slices, so that it goes by a setting that begins in its course.
enum { SLICE = 50000000 };

// slice is for how long in truth to wait next for a clock to show a time; 0: it does.
static i64 slice(int id, i64 until) {
	struct setting s = setting();
	i64 left = until - now(id);
	if (left <= 0) return 0;
	double d = (double)left / (1 + gain_of(&s)) + 1;
	return d > SLICE ? SLICE : (i64)d;
}

static int wait_clock(int id, int how, const struct timespec *t, struct timespec *rest) {
	ORIGINAL(int, "clock_nanosleep", int, int, const struct timespec *, struct timespec *);
	return original(id, how, t, rest);
}
static int valid(const struct timespec *t) { return t->sec >= 0 && t->nsec >= 0 && t->nsec < 1000000000; }

// sleep_until sleeps until a clock shows a time, and gives an error number as clock_nanosleep does.
static int sleep_until(int id, i64 until, struct timespec *rest) {
	for (i64 n; (n = slice(id, until)) > 0;) {
		struct timespec t = of_ns(n);
		int r = wait_clock(CLOCK_MONOTONIC, 0, &t, 0);
		if (!r) continue;
		i64 left = until - now(id);
		if (rest) *rest = of_ns(left > 0 ? left : 0);
		return r;
	}
	return 0;
}
EXPORT int clock_nanosleep(int id, int how, const struct timespec *t, struct timespec *rest) {
	if (!page || clock_of(id) < 0 || !valid(t)) return wait_clock(id, how, t, rest);
	if (how & TIMER_ABSTIME) return sleep_until(id, in_ns(t), 0);
	return sleep_until(CLOCK_MONOTONIC, after(CLOCK_MONOTONIC, in_ns(t)), rest);
}
EXPORT int nanosleep(const struct timespec *t, struct timespec *rest) {
	int e = clock_nanosleep(CLOCK_MONOTONIC, 0, t, rest);
	return e ? (int)fail(e) : 0;
}
EXPORT int usleep(u32 us) {
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	return nanosleep(&t, 0);
}
EXPORT u32 sleep(u32 seconds) {
	struct timespec t = {seconds, 0}, rest = {0, 0};
	return nanosleep(&t, &rest) ? (u32)rest.sec + (rest.nsec > 0) : 0;
}

struct pollfd;
static int poll_for(struct pollfd *f, u64 n, const struct timespec *t, const void *mask) {
	ORIGINAL(int, "ppoll", struct pollfd *, u64, const struct timespec *, const void *);
	return original(f, n, t, mask);
}
EXPORT int ppoll(struct pollfd *f, u64 n, const struct timespec *t, const void *mask) {
	if (!page || !t || !valid(t)) return poll_for(f, n, t, mask);
	i64 until = after(CLOCK_MONOTONIC, in_ns(t));
	for (;;) {
		struct timespec next = of_ns(slice(CLOCK_MONOTONIC, until));
		int r = poll_for(f, n, &next, mask);
		if (r || !slice(CLOCK_MONOTONIC, until)) return r;
	}
}
EXPORT int poll(struct pollfd *f, u64 n, int ms) {
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	return ppoll(f, n, ms < 0 ? 0 : &t, 0);
}
EXPORT int __poll_chk(struct pollfd *f, u64 n, int ms, u64 room) {
	if (room / 8 < n) __builtin_trap();
	return poll(f, n, ms);
}
EXPORT int __ppoll_chk(struct pollfd *f, u64 n, const struct timespec *t, const void *mask, u64 room) {
	if (room / 8 < n) __builtin_trap();
	return ppoll(f, n, t, mask);
}

static int select_for(int n, u64 *r, u64 *w, u64 *x, const struct timespec *t, const void *mask) {
	ORIGINAL(int, "pselect", int, u64 *, u64 *, u64 *, const struct timespec *, const void *);
	return original(n, r, w, x, t, mask);
}
enum { SET = 128 }; // words of a set of descriptors that is kept: more than programs have
static void copy(u64 *to, const u64 *from, int words) {
	for (int i = 0; to && from && i < words; i++) to[i] = from[i];
}
static int select_until(int n, u64 *r, u64 *w, u64 *x, i64 until, const void *mask) {
	u64 keep[3][SET];
	int words = (n + 63) / 64;
	copy(keep[0], r, words); copy(keep[1], w, words); copy(keep[2], x, words);
	for (;;) {
		struct timespec next = of_ns(slice(CLOCK_MONOTONIC, until));
		int found = select_for(n, r, w, x, &next, mask);
		if (found || !slice(CLOCK_MONOTONIC, until)) return found;
		copy(r, keep[0], words); copy(w, keep[1], words); copy(x, keep[2], words);
	}
}
EXPORT int pselect(int n, u64 *r, u64 *w, u64 *x, const struct timespec *t, const void *mask) {
	if (!page || !t || !valid(t) || n < 0 || n > 64 * SET) return select_for(n, r, w, x, t, mask);
	return select_until(n, r, w, x, after(CLOCK_MONOTONIC, in_ns(t)), mask);
}
EXPORT int select(int n, u64 *r, u64 *w, u64 *x, struct timeval *t) {
	ORIGINAL(int, "select", int, u64 *, u64 *, u64 *, struct timeval *);
	if (!page || !t || t->sec < 0 || t->usec < 0 || n < 0 || n > 64 * SET) return original(n, r, w, x, t);
	struct timespec whole = {t->sec + t->usec / 1000000, t->usec % 1000000 * 1000};
	i64 until = after(CLOCK_MONOTONIC, in_ns(&whole));
	int found = select_until(n, r, w, x, until, 0);
	i64 left = until - now(CLOCK_MONOTONIC);
	if (left < 0) left = 0;
	t->sec = left / 1000000000; // as Linux does
	t->usec = left % 1000000000 / 1000;
	return found;
}

EXPORT int epoll_pwait(int ep, void *events, int n, int ms, const void *mask) {
	ORIGINAL(int, "epoll_pwait", int, void *, int, int, const void *);
	if (!page || ms <= 0) return original(ep, events, n, ms, mask);
	i64 until = after(CLOCK_MONOTONIC, (i64)ms * 1000000);
	for (;;) {
		int r = original(ep, events, n, (int)((slice(CLOCK_MONOTONIC, until) + 999999) / 1000000), mask);
		if (r || !slice(CLOCK_MONOTONIC, until)) return r;
	}
}
EXPORT int epoll_wait(int ep, void *events, int n, int ms) { return epoll_pwait(ep, events, n, ms, 0); }
EXPORT int epoll_pwait2(int ep, void *events, int n, const struct timespec *t, const void *mask) {
	ORIGINAL(int, "epoll_pwait2", int, void *, int, const struct timespec *, const void *);
	if (!page || !t || !valid(t)) return original(ep, events, n, t, mask);
	i64 until = after(CLOCK_MONOTONIC, in_ns(t));
	for (;;) {
		struct timespec next = of_ns(slice(CLOCK_MONOTONIC, until));
		int r = original(ep, events, n, &next, mask);
		if (r || !slice(CLOCK_MONOTONIC, until)) return r;
	}
}

// ------------------------------------------------------------------- what threads wait for

// limit is the true deadline of the next slice of a wait until a clock shows a time.
static struct timespec limit(int id, i64 until) {
	i64 n = slice(id, until);
	struct timespec t = {0, 0};
	read_clock(id, &t);
	return of_ns(t.sec * 1000000000 + t.nsec + n);
}

// A condition is waited for by one of two clocks, and its attributes are libc's secret. The
// deadline tells which it is: what the two show is decades apart.
static int clock_for(i64 deadline) {
	i64 wall = deadline - now(CLOCK_REALTIME), mono = deadline - now(CLOCK_MONOTONIC);
	return (wall < 0 ? -wall : wall) < (mono < 0 ? -mono : mono) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

// condition_deadline is until when in truth to wait for a condition. Such a wait must not be
// cut and begun again: the signal may come in between. But it may end without a signal, as any may:
// its caller looks at the condition and waits again. So it is cut only while a clock's rate is skewed.
static struct timespec condition_deadline(int id, i64 until) {
	struct setting s = setting();
	return gain_of(&s) != 0 ? limit(id, until) : of_ns(truly(&s, clock_of(id), until));
}
EXPORT int pthread_cond_timedwait(void *c, void *m, const struct timespec *t) {
	ORIGINAL(int, "pthread_cond_timedwait", void *, void *, const struct timespec *);
	if (!page || !valid(t)) return original(c, m, t);
	int id = clock_for(in_ns(t));
	struct timespec by = condition_deadline(id, in_ns(t));
	int e = original(c, m, &by);
	return e == ETIMEDOUT && now(id) < in_ns(t) ? 0 : e;
}
EXPORT int pthread_cond_clockwait(void *c, void *m, int id, const struct timespec *t) {
	ORIGINAL(int, "pthread_cond_clockwait", void *, void *, int, const struct timespec *);
	if (!page || !valid(t) || clock_of(id) < 0) return original(c, m, id, t);
	struct timespec by = condition_deadline(id, in_ns(t));
	int e = original(c, m, id, &by);
	return e == ETIMEDOUT && now(id) < in_ns(t) ? 0 : e;
}

// The others can be begun again: what they wait for is kept until somebody takes it.
#define ERROR_OF(e) (e)
#define ERRNO_OF(e) ((e) ? *__errno_location() : 0)
#define TIMED(name, error, id, args, call, ...) \
	EXPORT int name args { \
		ORIGINAL(int, #name, __VA_ARGS__); \
		if (!page || !valid(t) || clock_of(id) < 0) { const struct timespec *by = t; return original call; } \
		for (;;) { \
			struct timespec next = limit(id, in_ns(t)), *by = &next; \
			int e = original call; \
			if (error(e) != ETIMEDOUT || now(id) >= in_ns(t)) return e; \
		} \
	}
#define ON_WALL(name, error) TIMED(name, error, CLOCK_REALTIME, (void *p, const struct timespec *t), (p, by), TYPES2)
#define ON_CLOCK(name, error) TIMED(name, error, id, (void *p, int id, const struct timespec *t), (p, id, by), TYPES3)
#define TYPES2 void *, const struct timespec *
#define TYPES3 void *, int, const struct timespec *
ON_WALL(sem_timedwait, ERRNO_OF)
ON_CLOCK(sem_clockwait, ERRNO_OF)
ON_WALL(pthread_mutex_timedlock, ERROR_OF)
ON_CLOCK(pthread_mutex_clocklock, ERROR_OF)
ON_WALL(pthread_rwlock_timedrdlock, ERROR_OF)
ON_CLOCK(pthread_rwlock_clockrdlock, ERROR_OF)
ON_WALL(pthread_rwlock_timedwrlock, ERROR_OF)
ON_CLOCK(pthread_rwlock_clockwrlock, ERROR_OF)
#define JOIN(name, id, args, call, ...) TIMED(name, ERROR_OF, id, args, call, __VA_ARGS__)
#define TYPES_JOIN u64, void **, const struct timespec *
#define TYPES_JOIN2 u64, void **, int, const struct timespec *
JOIN(pthread_timedjoin_np, CLOCK_REALTIME, (u64 thread, void **r, const struct timespec *t), (thread, r, by), TYPES_JOIN)
JOIN(pthread_clockjoin_np, id, (u64 thread, void **r, int id, const struct timespec *t), (thread, r, id, by), TYPES_JOIN2)

// ---------------------------------------------------------------------------------- the timers

// A timer is set once, by the clock as it is then.
struct timer { struct timespec every, first; };
static struct timespec stretched(const struct timespec *t) {
	struct setting s = setting();
	i64 n = in_ns(t);
	if (n == 0 || n >= never) return *t;
	double d = (double)n / (1 + gain_of(&s)) + 1;
	return of_ns(d > 2e18 ? never : (i64)d);
}
static struct timer timer_of(const struct timer *t, int absolute) {
	struct timer true = {stretched(&t->every), t->first};
	i64 at = in_ns(&t->first);
	if (at && absolute) {
		int id = clock_for(at);
		struct setting s = setting();
		true.first = of_ns(truly(&s, clock_of(id), at));
	} else {
		true.first = stretched(&t->first);
	}
	return true;
}
EXPORT int timerfd_settime(int fd, int how, const struct timer *t, struct timer *before) {
	ORIGINAL(int, "timerfd_settime", int, int, const struct timer *, struct timer *);
	if (!page || !t) return original(fd, how, t, before);
	struct timer by = timer_of(t, how & 1);
	return original(fd, how, &by, before);
}
EXPORT int timer_settime(void *id, int how, const struct timer *t, struct timer *before) {
	ORIGINAL(int, "timer_settime", void *, int, const struct timer *, struct timer *);
	if (!page || !t) return original(id, how, t, before);
	struct timer by = timer_of(t, how & 1);
	return original(id, how, &by, before);
}

// ------------------------------------------------------------- system calls of the program itself

// Some runtimes make the system calls of their locks and clocks themselves, through this function of libc.
EXPORT i64 syscall(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
	int command = (int)b & FUTEX_COMMAND;
	const struct timespec *t = (const struct timespec *)d;
	if (page && n == SYS_clock_gettime) return clock_gettime((int)a, (struct timespec *)b);
	if (!page || n != SYS_futex || command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET || !t || !valid(t)) return result(call(n, a, b, c, d, e, f));
	int id = b & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	i64 until = command == FUTEX_WAIT ? after(id, in_ns(t)) : in_ns(t);
	for (;;) {
		i64 left = slice(id, until);
		struct timespec next = command == FUTEX_WAIT ? of_ns(left) : limit(id, until);
		i64 r = call(n, a, b, c, (i64)&next, e, f);
		if (r != -ETIMEDOUT || !slice(id, until)) return result(r);
	}
}
