/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ctrl-C for commands that only compute, read and print. They hold nothing but
 * memory, so they may end anywhere: in a loop of the library, which knows no
 * signals, while reading a large file, or in a write to a pipe that is not
 * read. A thread waits for the signal. It leaves the command some time to end
 * with a partial result. Then it closes the document on stdout and ends the
 * process.
 *
 *     signal --> PATIENCE --> no more rows; document closed --> exit status 130
 *                             not within LAST: exit status 130 all the same
 *
 * Rows printed meanwhile are whole, because the thread ends the document
 * between two rows (output.c). Blocking calls are restarted, since an
 * interrupted write would lose a part of a row.
 */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 400, LAST_MS = 400, STACK_BYTES = 256 << 10 };

static sem_t woken; /* by a signal, and by computing_end */
static pthread_t monitor_thread;
static bool begun; /* used by the command's thread only */
static atomic_bool computing, ending;
/* Held while the command and the watcher decide which of them ends the process.
 */
static pthread_mutex_t decision = PTHREAD_MUTEX_INITIALIZER;

static void on_alarm(int number)
{
    (void)number;
    _exit(gw_err_exit(GW_EINTR));
}

/* Also when the lock of stdout is not free or its reader does not read. */
static void exit_within(long ms)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_value = {.tv_usec = ms * 1000}};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static _Noreturn void end_here(void)
{
    atomic_store(&ending, true);
    exit_within(LAST_MS);
    int status = complain_with(GW_EINTR, "interrupted");
    output_interrupt();
    _exit(status);
}

/* Waits until the patience is over or the command has ended. */
static void be_patient(void)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += PATIENCE_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (atomic_load(&computing))
        if (sem_clockwait(&woken, CLOCK_MONOTONIC, &end) < 0 &&
            errno == ETIMEDOUT)
            return;
}

static void *await_interrupt(void *unused)
{
    while (atomic_load(&computing)) {
        if (!interrupted) {
            sem_wait(&woken);
            continue;
        }
        be_patient();
        pthread_mutex_lock(&decision);
        if (atomic_load(&computing))
            end_here();
        pthread_mutex_unlock(&decision);
    }
    return unused;
}

/* Signals are delivered to other threads. */
static bool start_monitor(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed =
        pthread_create(&monitor_thread, &attributes, await_interrupt, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

void computing_begin(void)
{
    if (begun || sem_init(&woken, 0, 0))
        return;
    atomic_store(&computing, true);
    begun = start_monitor();
    atomic_store(&computing, begun);
    signals_catch();
}

void computing_end(void)
{
    if (!begun)
        return;
    pthread_mutex_lock(&decision);
    atomic_store(&computing, false);
    pthread_mutex_unlock(&decision);
    sem_post(&woken);
    pthread_join(monitor_thread, NULL);
    begun = false;
    signals_catch();
}

bool computing_now(void)
{
    return atomic_load(&computing);
}

void computing_wake(void)
{
    if (atomic_load(&computing))
        sem_post(&woken);
}

void computing_yield(void)
{
    while (atomic_load(&ending))
        pause();
}
