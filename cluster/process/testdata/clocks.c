// Waits, or says what the clocks show, as TestProgramsGoByTheirClocks tells it.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static struct timespec of(double s) { return (struct timespec){(time_t)s, (long)((s - (time_t)s) * 1e9)}; }
static struct timespec after(clockid_t id, double s) {
	struct timespec now, d = of(s);
	clock_gettime(id, &now);
	now.tv_sec += d.tv_sec + (now.tv_nsec + d.tv_nsec) / 1000000000;
	now.tv_nsec = (now.tv_nsec + d.tv_nsec) % 1000000000;
	return now;
}
static double show(clockid_t id) {
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

// condition waits as programs do: it may be woken without a signal.
static int condition(int kind, double s) {
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_condattr_t a;
	pthread_cond_t c;
	int e = 0;
	clockid_t id = kind ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	pthread_condattr_init(&a);
	if (kind == 1) pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&c, &a);
	struct timespec by = after(id, s);
	pthread_mutex_lock(&m);
	while (!e) e = kind == 2 ? pthread_cond_clockwait(&c, &m, id, &by) : pthread_cond_timedwait(&c, &m, &by);
	pthread_mutex_unlock(&m);
	return e == ETIMEDOUT;
}
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

static int do_it(const char *how, double s) {
	struct timespec t = of(s), by;
	int fds[2], word = 0;
	if (pipe(fds)) return 0;
	struct pollfd p = {fds[0], POLLIN, 0};
	fd_set set;
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	int ok = 1;
#define IS(name) (!strcmp(how, name))
	if IS("nanosleep") ok = nanosleep(&t, 0) == 0;
	else if IS("absolute") { by = after(CLOCK_MONOTONIC, s); ok = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &by, 0) == 0; }
	else if IS("wall") { by = after(CLOCK_REALTIME, s); ok = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &by, 0) == 0; }
	else if IS("usleep") ok = usleep((useconds_t)(s * 1e6)) == 0;
	else if IS("sleep") ok = sleep((unsigned)(s + 0.999)) == 0;
	else if IS("select") { struct timeval v = {t.tv_sec, t.tv_nsec / 1000}; ok = select(fds[0] + 1, &set, 0, 0, &v) == 0 && !v.tv_sec && !v.tv_usec; }
	else if IS("pselect") ok = pselect(fds[0] + 1, &set, 0, 0, &t, 0) == 0;
	else if IS("poll") ok = poll(&p, 1, (int)(s * 1000)) == 0;
	else if IS("ppoll") ok = ppoll(&p, 1, &t, 0) == 0;
	else if (IS("epoll") || IS("epoll2")) {
		struct epoll_event e = {.events = EPOLLIN};
		int ep = epoll_create1(0);
		epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &e);
		ok = (IS("epoll") ? epoll_wait(ep, &e, 1, (int)(s * 1000)) : epoll_pwait2(ep, &e, 1, &t, 0)) == 0;
		close(ep);
	}
	else if IS("condition") ok = condition(0, s);
	else if IS("condition-monotonic") ok = condition(1, s);
	else if IS("condition-clock") ok = condition(2, s);
	else if (IS("semaphore") || IS("semaphore-clock")) {
		sem_t sem;
		sem_init(&sem, 0, 0);
		by = after(IS("semaphore") ? CLOCK_REALTIME : CLOCK_MONOTONIC, s);
		ok = (IS("semaphore") ? sem_timedwait(&sem, &by) : sem_clockwait(&sem, CLOCK_MONOTONIC, &by)) == -1 && errno == ETIMEDOUT;
	}
	else if IS("mutex") { by = after(CLOCK_REALTIME, s); ok = pthread_mutex_timedlock(&held, &by) == ETIMEDOUT; }
	else if IS("rwlock") { by = after(CLOCK_REALTIME, s); ok = pthread_rwlock_timedwrlock(&rw, &by) == ETIMEDOUT; }
	else if (IS("timerfd") || IS("timerfd-absolute")) {
		uint64_t n;
		int fd = timerfd_create(CLOCK_MONOTONIC, 0), absolute = !IS("timerfd");
		struct itimerspec when = {.it_value = absolute ? after(CLOCK_MONOTONIC, s) : t};
		ok = timerfd_settime(fd, absolute ? TFD_TIMER_ABSTIME : 0, &when, 0) == 0 && read(fd, &n, sizeof n) == sizeof n;
		close(fd);
	}
	else if IS("futex") ok = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, 0, 0) == -1 && errno == ETIMEDOUT;
	else if IS("futex-absolute") { by = after(CLOCK_MONOTONIC, s); ok = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &by, 0, -1) == -1 && errno == ETIMEDOUT; }
	else ok = 0;
	close(fds[0]);
	close(fds[1]);
	return ok;
}

static void *lock(void *unused) {
	pthread_mutex_lock(&held);
	pthread_rwlock_rdlock(&rw);
	return unused;
}

// reader reads the clock all the time.
static void *reader(void *unused) {
	for (;;) show(CLOCK_MONOTONIC);
	return unused;
}

int main(void) {
	char how[64];
	double s;
	pthread_t t;
	pthread_create(&t, 0, lock, 0);
	pthread_join(t, 0);
	setvbuf(stdout, 0, _IOLBF, 0);
	puts("ready");
	while (scanf("%63s", how) == 1) {
		if (!strcmp(how, "clock")) printf("%.6f %.6f\n", show(CLOCK_MONOTONIC), show(CLOCK_REALTIME));
		else if (!strcmp(how, "busy")) puts(pthread_create(&t, 0, reader, 0) ? how : "ok");
		else puts(scanf("%lf", &s) == 1 && do_it(how, s) ? "ok" : how);
	}
}
