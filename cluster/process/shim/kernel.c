// What both shims need of the machine: system calls without libc, and the kernel's own code for
// reading a clock. It is compiled in front of shim.c and of clocks.c.
//
// No headers, which a host may lack, and no libc but for a few symbols that each one has.
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef __UINT32_TYPE__ u32;
typedef __UINT16_TYPE__ u16;

extern char *getenv(const char *);
extern int *__errno_location(void);
extern unsigned long getauxval(unsigned long);

#define EXPORT __attribute__((visibility("default")))

// ------------------------------------------------------------------------------- system calls

#if defined(__x86_64__)
enum {
	SYS_write = 1, SYS_close = 3, SYS_mmap = 9, SYS_pwrite64 = 18, SYS_writev = 20, SYS_sched_yield = 24, SYS_nanosleep = 35,
	SYS_getpid = 39, SYS_fsync = 74, SYS_fdatasync = 75, SYS_truncate = 76, SYS_ftruncate = 77,
	SYS_clock_gettime = 228, SYS_openat = 257, SYS_mkdirat = 258, SYS_unlinkat = 263, SYS_linkat = 265,
	SYS_renameat2 = 316, SYS_statx = 332,
};
static i64 call(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
	register i64 r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	i64 r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__)
enum {
	SYS_mkdirat = 34, SYS_unlinkat = 35, SYS_linkat = 37, SYS_truncate = 45, SYS_ftruncate = 46,
	SYS_openat = 56, SYS_close = 57, SYS_write = 64, SYS_writev = 66, SYS_pwrite64 = 68, SYS_fsync = 82,
	SYS_fdatasync = 83, SYS_nanosleep = 101, SYS_clock_gettime = 113, SYS_sched_yield = 124, SYS_getpid = 172, SYS_mmap = 222,
	SYS_renameat2 = 276, SYS_statx = 291,
};
static i64 call(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
	register i64 x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
		x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#else
#error "the fault shim knows x86-64 and arm64"
#endif
#define SYS(n, ...) SYS_(n, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define SYS_(n, a, b, c, d, e, f, ...) call(n, (i64)(a), (i64)(b), (i64)(c), (i64)(d), (i64)(e), (i64)(f))

enum {
	CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 1, CLOCK_REALTIME_COARSE = 5,
	AT_FDCWD = -100, AT_SYMLINK_NOFOLLOW = 0x100, AT_EMPTY_PATH = 0x1000, AT_SYSINFO_EHDR = 33,
	O_RDWR = 2, O_CREAT = 0100, O_TRUNC = 01000, O_CLOEXEC = 02000000, O_TMPFILE = 020000000,
	PROT_READ_WRITE = 3, MAP_SHARED = 1,
	ENOENT = 2, ENOSPC = 28,
	S_IFMT = 0170000, S_IFREG = 0100000, S_IFDIR = 0040000,
};
struct timespec { i64 sec, nsec; };
struct timeval { i64 sec, usec; };
struct statx {
	u32 mask, blksize;
	u64 attributes;
	u32 nlink, uid, gid;
	u16 mode, pad;
	u64 ino, size, blocks, attributes_mask;
	struct { i64 sec; u32 nsec, pad; } atime, btime, ctime, mtime;
	u32 rdev_major, rdev_minor, dev_major, dev_minor;
	u64 spare[14];
};

// result gives a system call's result as libc does.
static i64 result(i64 r) {
	if (r < 0 && r > -4096) {
		*__errno_location() = (int)-r;
		return -1;
	}
	return r;
}
static i64 fail(int e) { return result(-e); }

#define load(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
#define add(p, v) __atomic_fetch_add(&(p), (v), __ATOMIC_ACQ_REL)

static int copyenv(const char *name, char *to, int room) {
	const char *v = getenv(name);
	int n = 0;
	if (!v) return 0;
	while (v[n] && n < room - 1) { to[n] = v[n]; n++; }
	to[n] = 0;
	return v[n] ? 0 : n;
}

// ------------------------------------------------------------------------- reading the clock

// The kernel's own code for reading a clock without a system call, from the object that it maps
// into each process. Redis reads the clock several times in each command.
typedef int clock_reader(int, struct timespec *);
static clock_reader *vdso;

struct ehdr { unsigned char ident[16]; u16 type, machine; u32 version; u64 entry, phoff, shoff; u32 flags; u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx; };
struct phdr { u32 type, flags; u64 offset, vaddr, paddr, filesz, memsz, align; };
struct dyn { i64 tag; u64 value; };
struct sym { u32 name; unsigned char info, other; u16 shndx; u64 value, size; };

static int same(const char *a, const char *b) {
	while (*a && *a == *b) { a++; b++; }
	return *a == *b;
}

static void find_vdso(void) {
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	if (!base) return;
	const struct ehdr *e = (const struct ehdr *)base;
	const struct phdr *ph = (const struct phdr *)(base + e->phoff);
	const struct dyn *d = 0;
	const char *bias = 0;
	for (int i = 0; i < e->phnum; i++) {
		if (ph[i].type == 1 && !bias) bias = base + ph[i].offset - ph[i].vaddr;
		if (ph[i].type == 2) d = (const struct dyn *)(base + ph[i].offset);
	}
	if (!d || !bias) return;
	const char *strings = 0;
	const struct sym *syms = 0;
	const u32 *hash = 0, *gnu = 0;
	for (; d->tag; d++) switch (d->tag) {
		case 4: hash = (const u32 *)(bias + d->value); break;
		case 5: strings = bias + d->value; break;
		case 6: syms = (const struct sym *)(bias + d->value); break;
		case 0x6ffffef5: gnu = (const u32 *)(bias + d->value); break;
	}
	if (!strings || !syms) return;
	u32 count = 0;
	if (hash) {
		count = hash[1];
	} else if (gnu) { // the longest chain's end is the table's
		const u32 *buckets = gnu + 4 + gnu[2] * 2, *chain = buckets + gnu[0];
		for (u32 i = 0; i < gnu[0]; i++) if (buckets[i] > count) count = buckets[i];
		if (count >= gnu[1] && count) while (!(chain[count - gnu[1]] & 1)) count++;
		count++;
	}
	for (u32 i = 0; i < count; i++) {
		const char *n = strings + syms[i].name;
		if (syms[i].shndx && (same(n, "__vdso_clock_gettime") || same(n, "__kernel_clock_gettime"))) vdso = (clock_reader *)(bias + syms[i].value);
	}
}

static int read_clock(int id, struct timespec *t) {
	if (vdso) return vdso(id, t);
	return (int)SYS(SYS_clock_gettime, id, t);
}
static i64 nanoseconds(int id) {
	struct timespec t = {0, 0};
	read_clock(id, &t);
	return t.sec * 1000000000 + t.nsec;
}

