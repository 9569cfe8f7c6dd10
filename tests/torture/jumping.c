/* The time of day of whoever loads this is wrong by what a file says, and may jump while it runs.
 *
 * JUMP_FILE holds one 64-bit number: microseconds. It is mapped, so that a jump is seen by all
 * processes at once. Clocks other than the time of day are left alone, as setting a machine's clock
 * leaves them. A wait until a time of day is made one until the same moment of the right clock.
 *
 * libfaketime was tried first: that of Debian 12 makes Python's sleep fail (clock_nanosleep), and
 * version 3 of the package ends a JVM, whose threads read its file at one time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL
#define A_TIME_OF_DAY_S 1000000000LL /* no clock that counts from the start of a machine is there */

static volatile const int64_t *wrong_by_us;

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("JUMP_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) wrong_by_us = mapped;
    close(file);
}

static void move(struct timespec *at, int sign) {
    if (!wrong_by_us) return;
    int64_t ns = at->tv_sec * SECOND_NS + at->tv_nsec + sign * *wrong_by_us * 1000;
    at->tv_sec = ns / SECOND_NS;
    at->tv_nsec = ns % SECOND_NS;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(now, 1);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return clock_gettime(CLOCK_REALTIME, now) ? 0 : base;
}

static struct timespec by_the_right_clock(const struct timespec *until) {
    struct timespec moved = *until;
    if (until->tv_sec > A_TIME_OF_DAY_S) move(&moved, -1);
    return moved;
}

/* There are two of this name; the older one, which dlsym finds, has another pthread_cond_t. */
static void *newer(const char *name) {
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
    const struct timespec *restrict until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real) *(void **)&real = newer("pthread_cond_timedwait");
    struct timespec moved = by_the_right_clock(until);
    return real(condition, mutex, &moved);
}

int cnd_timedwait(void *condition, void *mutex, const struct timespec *until) {
    static int (*real)(void *, void *, const struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "cnd_timedwait");
    struct timespec moved = by_the_right_clock(until);
    return real(condition, mutex, &moved);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    static int (*real)(sem_t *, const struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec moved = by_the_right_clock(until);
    return real(semaphore, &moved);
}
