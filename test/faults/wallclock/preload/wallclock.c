// Shifts the wall clock of one process by the nanoseconds in a file, which it
// maps: whoever writes the file moves the clock of a process that runs. Clocks
// that no one can set, CLOCK_MONOTONIC before all, are left alone.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;
static const int64_t *shift;

__attribute__((constructor)) static void map(void) {
	const char *name = getenv("HOLDFAST_TEST_CLOCK");
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0) return;
	void *at = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
	close(file);
	if (at != MAP_FAILED) shift = at;
}

static int64_t wall(void) {
	struct timespec now = {0};
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	int64_t ns = now.tv_sec * second + now.tv_nsec;
	return shift ? ns + __atomic_load_n(shift, __ATOMIC_RELAXED) : ns;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return syscall(SYS_clock_gettime, clock, now);
	int64_t ns = wall();
	now->tv_sec = ns / second;
	now->tv_nsec = ns % second;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	(void)zone;
	int64_t ns = wall();
	now->tv_sec = ns / second;
	now->tv_usec = ns % second / 1000;
	return 0;
}

time_t time(time_t *now) {
	time_t s = wall() / second;
	if (now) *now = s;
	return s;
}
