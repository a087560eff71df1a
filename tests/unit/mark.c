/* SPDX-License-Identifier: MIT
 *
 * Check writes the location of each successful assertion to a file, so that it
 * can report where a test crashed. In loops over millions of elements these
 * writes take most of the time of a test, so only the first of each millisecond
 * is written: item is linked with --wrap=_mark_point.
 */
#include <time.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
    static _Thread_local long last_ms;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    long now_ms = (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (now_ms == last_ms)
        return;
    last_ms = now_ms;
    __real__mark_point(file, line);
}
