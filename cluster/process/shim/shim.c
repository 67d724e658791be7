// The fault shim: what stands between an unmodified redis-server and its machine. Loaded with
// LD_PRELOAD it shows the server another wall clock and another disk, and keeps a log of what
// the disk was made to promise, so that a power cut can take back the rest.
//
// It must not disturb the server, so there is little that it may do:
//
//   - Raw system calls only. Redis' allocator calls into here before libc is ready, and anything
//     that allocates or looks up a symbol in such a call would come back to the allocator.
//   - No locks. Redis forks while its other threads work; a lock that one of them held would stay
//     held in the child for ever.
//   - No file descriptors that stay open, and no environment after the start: Redis counts the
//     former, and overwrites the latter with its process title.
//   - No headers, which a host may lack, and no libc but for a few symbols that each one has.
//
// So everything is in one page of memory that is shared with the harness (a mapped file): what to
// do is read from there at every call, and what was done is noted there. It outlives the server,
// whatever ends it. The page is laid out in sharedmemory.go; the sizes come from there, too.
// ------------------------------------------------------------------------------------ the page

enum { CLOCK = 1, LIES = 2, FULL = 4 };   // flags of a setting
enum { SAW_CLOCK = 1 };                   // what the server was seen to call

struct setting { u64 flags; i64 base, offset; u64 gain; i64 delay, pad[3]; }; // gain: the bits of a double
struct slot { u64 ino, value, birth, pad; };
struct record { u64 number, op, ino, kept; char from[NAME], to[NAME]; };
struct page {
	u64 magic, generation, hello, failed, seen;
	u64 ops, committed, kept;                 // names changed, of these durable, files kept
	u64 fsyncs, delayed, lied, refused, lost; // counts
	u64 pad[3];
	struct setting setting[2];                // the one of the generation is in force
	u64 rest[512 - 16 - 16];
	struct slot slot[SLOTS];                  // of each inode that was fsynced
	struct record record[RECORDS];            // the last changes of names
};

static struct page *page;
static char data_dir[1024], shim_dir[1024];

static void saw(u64 what) {
	if (!(__atomic_load_n(&page->seen, __ATOMIC_RELAXED) & what)) __atomic_fetch_or(&page->seen, what, __ATOMIC_RELAXED);
}

// flags is the current setting's flags alone: enough to know that nothing is wrong.
static u64 flags(void) { return load(page->setting[load(page->generation) & 1].flags); }

// setting reads the current one. The harness writes the other and then counts the generation up,
// so what was read is whole if the generation is still the same.
static struct setting setting(void) {
	struct setting s;
	u64 g;
	do {
		g = load(page->generation);
		struct setting *p = &page->setting[g & 1];
		s.flags = load(p->flags); s.base = load(p->base); s.offset = load(p->offset); s.gain = load(p->gain); s.delay = load(p->delay);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (g != load(page->generation));
	return s;
}

struct path { char s[1200]; int n; };
static void put(struct path *p, const char *s) { while (*s && p->n < (int)sizeof p->s - 1) p->s[p->n++] = *s++; p->s[p->n] = 0; }
static void put_number(struct path *p, u64 v) {
	char t[24];
	int i = sizeof t - 1;
	t[i] = 0;
	do t[--i] = '0' + v % 10; while (v /= 10);
	put(p, t + i);
}

static int stat_at(int fd, const char *path, int how, struct statx *s) { return (int)SYS(SYS_statx, fd, path, how, 0xfff, s); }
static u64 birth(const struct statx *s) { return s->mask & 0x800 ? (u64)s->btime.sec * 1000000000 + s->btime.nsec : 0; }

__attribute__((constructor)) static void begin(void) {
	find_vdso();
	if (!copyenv("LOCKPICK_SHIM", shim_dir, sizeof shim_dir) || !copyenv("LOCKPICK_DATA", data_dir, sizeof data_dir)) return;
	struct path name = {.n = 0};
	put(&name, shim_dir);
	put(&name, "/page");
	i64 fd = SYS(SYS_openat, AT_FDCWD, name.s, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0) return;
	i64 at = SYS(SYS_mmap, 0, sizeof(struct page), PROT_READ_WRITE, MAP_SHARED, fd, 0);
	SYS(SYS_close, fd);
	if (at < 0 && at > -4096) return;
	struct page *p = (struct page *)at;
	if (load(p->magic) != MAGIC) return;
	struct statx s;
	int r = stat_at(AT_FDCWD, data_dir, 0, &s);
	if (r < 0) { store(p->failed, (u64)-r); return; }
	page = p;
	store(p->hello, (u64)SYS(SYS_getpid));
}

// ----------------------------------------------------------------------------------- the clock

// shift turns a true wall time into the one that the server is to see. What the clock gained since
// the setting is a floating-point product: exact enough, and never running backwards by rounding.
static void shift(struct timespec *t) {
	if (!page) return;
	saw(SAW_CLOCK);
	if (!(flags() & CLOCK)) return;
	struct setting s = setting();
	if (!(s.flags & CLOCK)) return;
	double gain;
	__builtin_memcpy(&gain, &s.gain, sizeof gain);
	i64 now = t->sec * 1000000000 + t->nsec;
	now += s.offset + (i64)((double)(now - s.base) * gain);
	t->sec = now / 1000000000;
	t->nsec = now % 1000000000;
}
EXPORT int clock_gettime(int id, struct timespec *t) {
	int r = read_clock(id, t);
	if (r < 0) return (int)result(r);
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) shift(t);
	return 0;
}
EXPORT int gettimeofday(struct timeval *v, void *zone) {
	struct timespec t = {0, 0};
	(void)zone;
	read_clock(CLOCK_REALTIME, &t);
	shift(&t);
	v->sec = t.sec;
	v->usec = t.nsec / 1000;
	return 0;
}
EXPORT i64 time(i64 *to) {
	struct timespec t = {0, 0};
	read_clock(CLOCK_REALTIME_COARSE, &t);
	shift(&t);
	if (to) *to = t.sec;
	return t.sec;
}

// --------------------------------------------------------------------------- the log of fsyncs

// slot finds the entry of an inode: for a file the bytes of it that are durable, for a directory
// how many changes of names were made before it was last fsynced.
static struct slot *slot(u64 ino, int make) {
	u64 at = ino * 0x9E3779B97F4A7C15ull >> 40;
	for (u64 i = 0; i < SLOTS; i++) {
		struct slot *s = &page->slot[(at + i) % SLOTS];
		u64 has = load(s->ino);
		if (has == 0) {
			if (!make) return 0;
			if (__atomic_compare_exchange_n(&s->ino, &has, ino, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return s;
		}
		if (has == ino) return s;
	}
	if (make) add(page->lost, 1); // the harness sees that the log is not complete
	return 0;
}
static void raise(u64 *p, u64 v) {
	u64 has = load(*p);
	while (has < v && !__atomic_compare_exchange_n(p, &has, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}
static void lower(u64 *p, u64 v) {
	u64 has = load(*p);
	while (has > v && !__atomic_compare_exchange_n(p, &has, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static void durable(const struct statx *f, u64 value) {
	struct slot *s = slot(f->ino, 1);
	if (!s) return;
	if (load(s->birth) != birth(f)) { // the inode of a file that is gone
		store(s->value, 0);
		store(s->birth, birth(f));
	}
	raise(&s->value, value);
}
static void emptied(u64 ino, u64 size) {
	struct slot *s = slot(ino, 0);
	if (s) lower(&s->value, size);
}

// name is a path below the data directory, relative to it; null for any other. Redis goes into
// its data directory, so a relative path is one.
static const char *name(const char *path) {
	if (!page || !path) return 0;
	if (path[0] == '/') {
		const char *d = data_dir;
		while (*d && *d == *path) { d++; path++; }
		if (*d || *path != '/') return 0;
		while (*path == '/') path++;
	}
	while (path[0] == '.' && path[1] == '/') path += 2;
	int n = 0;
	while (path[n]) n++;
	if (n >= NAME) { add(page->lost, 1); return 0; }
	return path;
}

// changed notes a change of a name, for a power cut to undo.
static void changed(char op, u64 ino, u64 kept, const char *from, const char *to) {
	u64 n = add(page->ops, 1);
	struct record *r = &page->record[n % RECORDS];
	store(r->number, 0);
	r->op = op; r->ino = ino; r->kept = kept;
	int i = 0;
	for (; from[i]; i++) r->from[i] = from[i];
	r->from[i] = 0;
	for (i = 0; to[i]; i++) r->to[i] = to[i];
	r->to[i] = 0;
	store(r->number, n + 1);
}

// keep gives a file that is about to lose its name another one outside the data directory, from
// which a power cut can bring it back. Only the last ones are kept.
static u64 keep(const char *path) {
	struct statx s;
	if (stat_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &s) < 0 || (s.mode & S_IFMT) != S_IFREG) return 0;
	u64 n = add(page->kept, 1) + 1;
	struct path to = {.n = 0};
	put(&to, shim_dir);
	put(&to, "/kept/");
	put_number(&to, n % KEPT);
	SYS(SYS_unlinkat, AT_FDCWD, to.s, 0);
	return SYS(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to.s, 0) < 0 ? 0 : n;
}

// ------------------------------------------------------------------------------------ the disk

// wait_disk is a slow disk. It looks again and again whether the disk is healed.
static void wait_disk(void) {
	i64 began = 0;
	for (;;) {
		i64 delay = setting().delay;
		if (delay <= 0) return;
		i64 now = nanoseconds(CLOCK_MONOTONIC);
		if (!began) { began = now; add(page->delayed, 1); }
		i64 left = delay - (now - began);
		if (left <= 0) return;
		struct timespec t = {0, left < 2000000 ? left : 2000000};
		SYS(SYS_nanosleep, &t, 0);
	}
}

static int sync_file(int fd, i64 nr) {
	struct statx f;
	if (!page || stat_at(fd, "", AT_EMPTY_PATH, &f) < 0) return (int)result(SYS(nr, fd));
	int dir = (f.mode & S_IFMT) == S_IFDIR;
	if (!dir && (f.mode & S_IFMT) != S_IFREG) return (int)result(SYS(nr, fd));
	u64 ops = load(page->ops); // this, and the size, as they were before the call
	add(page->fsyncs, 1);
	wait_disk();
	u64 now = flags();
	if (now & LIES) { add(page->lied, 1); return 0; }
	// What was written through stdio did not pass here. A full disk has no room for a file that
	// it never had; the ones that it has can be fsynced.
	if (now & FULL && !dir && !slot(f.ino, 0)) { add(page->refused, 1); return (int)fail(ENOSPC); }
	i64 r = SYS(nr, fd);
	if (r == 0) {
		durable(&f, dir ? ops : f.size);
		raise(&page->committed, ops);
	}
	return (int)result(r);
}
EXPORT int fsync(int fd) { return sync_file(fd, SYS_fsync); }
EXPORT int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

// full says whether a write has to fail because the disk is full; sockets and pipes have no disk.
static int full(int fd) {
	struct statx f;
	if (!page || !(flags() & FULL) || stat_at(fd, "", AT_EMPTY_PATH, &f) < 0 || (f.mode & S_IFMT) != S_IFREG) return 0;
	add(page->refused, 1);
	return 1;
}
EXPORT i64 write(int fd, const void *b, u64 n) { return full(fd) ? fail(ENOSPC) : result(SYS(SYS_write, fd, b, n)); }
EXPORT i64 writev(int fd, const void *v, int n) { return full(fd) ? fail(ENOSPC) : result(SYS(SYS_writev, fd, v, n)); }
EXPORT i64 pwrite(int fd, const void *b, u64 n, i64 at) { return full(fd) ? fail(ENOSPC) : result(SYS(SYS_pwrite64, fd, b, n, at)); }
EXPORT i64 pwrite64(int fd, const void *b, u64 n, i64 at) { return pwrite(fd, b, n, at); }

static int open_file(const char *path, int how, int mode) {
	const char *n = how & (O_CREAT | O_TRUNC) ? name(path) : 0;
	if (!n) return (int)result(SYS(SYS_openat, AT_FDCWD, path, how, mode));
	struct statx f;
	int fresh = stat_at(AT_FDCWD, path, 0, &f) == -ENOENT;
	if (fresh && how & O_CREAT && flags() & FULL) { add(page->refused, 1); return (int)fail(ENOSPC); }
	i64 fd = SYS(SYS_openat, AT_FDCWD, path, how, mode);
	if (fd >= 0 && stat_at((int)fd, "", AT_EMPTY_PATH, &f) == 0) {
		if (fresh || how & O_TRUNC) emptied(f.ino, 0);
		if (fresh) changed('C', f.ino, 0, n, "");
	}
	return (int)result(fd);
}
#define MODE(how) int mode = 0; if ((how) & (O_CREAT | O_TMPFILE)) { __builtin_va_list a; __builtin_va_start(a, how); mode = __builtin_va_arg(a, int); __builtin_va_end(a); }
EXPORT int open(const char *path, int how, ...) { MODE(how) return open_file(path, how, mode); }
EXPORT int open64(const char *path, int how, ...) { MODE(how) return open_file(path, how, mode); }
EXPORT int __open_2(const char *path, int how) { return open_file(path, how, 0); }
EXPORT int __open64_2(const char *path, int how) { return open_file(path, how, 0); }

// A change of a name is noted before it is made: one that is killed in between is none, and the
// harness sees that from the inodes.
EXPORT int rename(const char *from, const char *to) {
	const char *a = name(from), *b = name(to);
	struct statx f;
	if (a && b && stat_at(AT_FDCWD, from, AT_SYMLINK_NOFOLLOW, &f) == 0) changed('R', f.ino, keep(to), a, b);
	return (int)result(SYS(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
EXPORT int unlink(const char *path) {
	const char *n = name(path);
	struct statx f;
	if (n && stat_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &f) == 0) changed('U', f.ino, keep(path), n, "");
	return (int)result(SYS(SYS_unlinkat, AT_FDCWD, path, 0));
}
EXPORT int mkdir(const char *path, u32 mode) {
	const char *n = name(path);
	if (n && flags() & FULL) { add(page->refused, 1); return (int)fail(ENOSPC); }
	i64 r = SYS(SYS_mkdirat, AT_FDCWD, path, mode);
	struct statx f;
	if (n && r == 0 && stat_at(AT_FDCWD, path, 0, &f) == 0) changed('M', f.ino, 0, n, "");
	return (int)result(r);
}
EXPORT int ftruncate(int fd, i64 size) {
	i64 r = SYS(SYS_ftruncate, fd, size);
	struct statx f;
	if (r == 0 && page && stat_at(fd, "", AT_EMPTY_PATH, &f) == 0) emptied(f.ino, (u64)size);
	return (int)result(r);
}
EXPORT int ftruncate64(int fd, i64 size) { return ftruncate(fd, size); }
EXPORT int truncate(const char *path, i64 size) {
	i64 r = SYS(SYS_truncate, path, size);
	struct statx f;
	if (r == 0 && page && stat_at(AT_FDCWD, path, 0, &f) == 0) emptied(f.ino, (u64)size);
	return (int)result(r);
}
EXPORT int truncate64(const char *path, i64 size) { return truncate(path, size); }
