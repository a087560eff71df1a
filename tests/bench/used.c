/* SPDX-License-Identifier: MIT
 *
 * The resources used by a command.
 *
 *     used COMMAND...         (prints "SECONDS CPU_SECONDS MIB" on stderr)
 *
 * Seconds from its start to its end, CPU seconds of it and its children, and
 * the largest memory of one of them. The exit status is the command's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    double begin = now();
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        perror("used");
        return 70;
    }
    fprintf(stderr, "%.2f %.2f %.0f\n", now() - begin,
            seconds(usage.ru_utime) + seconds(usage.ru_stime),
            (double)usage.ru_maxrss / 1024);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
