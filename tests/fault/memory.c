/* SPDX-License-Identifier: MIT
 *
 * Fails each allocation of a command, one at a time, and checks how the command
 * ends:
 *
 *     memory PRELOAD [-s STRIDE] [-p PROCESS] [-n CALL] [-a AFTER] \
 *         -- COMMAND...
 *
 * The command first runs undisturbed, and its calls are counted per process.
 * Then it runs again for every STRIDE-th of them, which fails
 * (memory_preload.c). It must end in time, with status 0 (it did without the
 * memory) or 70 and a message with "out of memory". No process may outlive it
 * by more than a few seconds, and $TMPDIR must be as empty as before. AFTER is
 * a shell command that ends surviving services. -p and -n try one call alone;
 * the report of a failure has them.
 */
#include "memory_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RUN_S = 60,
    LINGER_S = 15,
    TRIES = 3,
    OUTPUT_MAX = 1 << 16,
    INTERNAL = 70
};

static struct memory_state *state;
static const char *preload, *after, *folder;
static char **command;
static char output[OUTPUT_MAX];
static unsigned long bad, refused, runs;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(INTERNAL);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void nap(void)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    nanosleep(&nap, NULL);
}

/* ---- a run ---- */

static pid_t start(int out)
{
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0)
        return pid;
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    setenv("LD_PRELOAD", preload, 1);
    execvp(command[0], command);
    _exit(127);
}

/* -1: it did not end in time, and was killed. */
static int await(pid_t pid)
{
    int status;
    uint64_t end = now_ms() + RUN_S * 1000;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (now_ms() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        nap();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Orphans are our children (PR_SET_CHILD_SUBREAPER). False: some had to be
 * killed. */
static bool all_gone(void)
{
    char path[64];
    uint64_t end = now_ms() + LINGER_S * 1000;
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
        if (pid > 0)
            continue;
        if (now_ms() > end)
            break;
        nap();
    }
    if (pid < 0)
        return true;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *list = fopen(path, "r");
    int child;
    while (list && fscanf(list, "%d", &child) == 1)
        kill(child, SIGKILL);
    if (list)
        fclose(list);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return false;
}

/* The first entry of $TMPDIR; NULL: it is empty. */
static const char *left_over(void)
{
    static char name[256];
    DIR *dir = opendir(folder);
    struct dirent *entry;
    *name = 0;
    while (dir && !*name && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            snprintf(name, sizeof name, "%s", entry->d_name);
    if (dir)
        closedir(dir);
    return *name ? name : NULL;
}

static void tidy(void)
{
    if (!after)
        return;
    unsetenv("LD_PRELOAD");
    if (system(after) < 0)
        die("system");
}

static void report(int status, const char *what)
{
    if (bad++ < 200)
        printf("process %u call %llu (+0x%llx): status %d: %s: %s\n",
               state->process, (unsigned long long)state->call,
               (unsigned long long)state->caller, status, what, output);
    fflush(stdout);
}

/* The fault of this run; NULL: none. */
static const char *fault_of(int status, const char *left, bool gone)
{
    if (status == -1)
        return "does not end";
    if (!gone)
        return "leaves a process";
    if (left)
        return left;
    if (status != 0 && status != INTERNAL)
        return "the status is wrong";
    if (status != 0 && !strstr(output, "out of memory"))
        return "memory is not named";
    return NULL;
}

static const char *run(unsigned process, uint64_t call, int *ended)
{
    int out = memfd_create("stderr", MFD_CLOEXEC);
    if (out < 0)
        die("memfd");
    memset(state, 0, sizeof *state);
    state->process = process;
    state->call = call;
    int status = await(start(out));
    tidy();
    bool gone = all_gone();
    ssize_t bytes = pread(out, output, sizeof output - 1, 0);
    output[bytes > 0 ? bytes : 0] = 0;
    output[strcspn(output, "\n")] = *output == '\n' ? '\n' : 0;
    close(out);
    runs++;
    refused += status == INTERNAL;
    *ended = status;
    return fault_of(call == 0 && status != 0 ? 128 : status, left_over(), gone);
}

/* One good try of several suffices: on a busy machine a rank may be declared
 * dead, or the calls may come in another order. */
static void try(unsigned process, uint64_t call)
{
    int status;
    const char *wrong = run(process, call, &status);
    for (int again = 0; wrong && again < TRIES - 1; again++)
        wrong = run(process, call, &status);
    if (wrong)
        report(status, wrong);
}

/* ---- all of them ---- */

static void sweep(uint64_t stride)
{
    uint64_t calls[MEMORY_PROCESSES];
    try(0, 0);
    unsigned processes = atomic_load(&state->processes);
    for (unsigned p = 0; p < MEMORY_PROCESSES; p++)
        calls[p] = atomic_load(&state->calls[p]);
    for (unsigned p = 0; p < processes && p < MEMORY_PROCESSES; p++) {
        printf("process %u: %llu calls\n", p, (unsigned long long)calls[p]);
        fflush(stdout);
        for (uint64_t n = 1; n <= calls[p]; n += stride)
            try(p, n);
    }
}

static void share_state(void)
{
    static char path[64];
    int fd = memfd_create("state", 0);
    if (fd < 0 || ftruncate(fd, sizeof *state) != 0)
        die("the state");
    state =
        mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (state == MAP_FAILED)
        die("the state");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    setenv("MEMORY_STATE", path, 1);
}

int main(int argc, char **argv)
{
    unsigned process = 0;
    uint64_t stride = 1, call = 0;
    int option;
    preload = argc > 1 ? argv[1] : "";
    optind = 2;
    while ((option = getopt(argc, argv, "+s:p:n:a:")) != -1) {
        if (option == 's')
            stride = strtoull(optarg, NULL, 10);
        else if (option == 'p')
            process = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'n')
            call = strtoull(optarg, NULL, 10);
        else if (option == 'a')
            after = optarg;
        else
            return 64;
    }
    command = argv + optind;
    folder = getenv("TMPDIR");
    if (!*command || !folder || stride == 0)
        return 64;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    share_state();
    if (call)
        try(process, call);
    else
        sweep(stride);
    printf("%lu runs, %lu ended for want of memory, %lu bad\n", runs, refused,
           bad);
    return bad != 0;
}
