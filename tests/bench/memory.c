/* SPDX-License-Identifier: MIT
 *
 * The memory of an all-reduce beyond the user's buffers: the limit is 8 MiB per
 * rank, on any wire.
 *
 *     memory WIRE RANKS BYTES [malloc]        (prints MiB per rank)
 *
 * The measure is the proportional set size of all ranks together. A page counts
 * once, however many ranks map it. So a rank is not charged for the peer's
 * buffer that it reads, and shared scratch memory counts once, too. The ranks
 * are stopped during a measurement: otherwise a page that a second rank maps in
 * the middle would count more than once. There is one measurement per
 * millisecond, from before there is a communicator. The memory in use before
 * any buffer, and the buffers themselves, are subtracted from the peak. Socket
 * buffers of the kernel are not included.
 */
#include <gradwire/gradwire.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 64, CALLS = 12 };

static const char *wire;
static unsigned ranks;
static size_t bytes;
static bool from_malloc;

static struct {
    _Atomic unsigned ready, go, done, over;
} * shared;
static pid_t pids[RANKS_MAX];

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "memory: %s: %s\n", what, why);
    exit(70);
}

static void nap(long us)
{
    const struct timespec time = {.tv_nsec = us * 1000};
    nanosleep(&time, NULL);
}

static void await(const _Atomic unsigned *word, unsigned wanted)
{
    while (atomic_load(word) < wanted)
        nap(200);
}

/* ---- a rank ---- */

static float *buffer(void)
{
    struct gw_error why = {.text = "no memory"};
    float *memory = from_malloc ? malloc(bytes) : gw_alloc(bytes, &why);
    if (!memory)
        fail("buffer", why.text);
    memset(memory, 0, bytes);
    return memory;
}

static _Noreturn void live(unsigned rank, pid_t parent)
{
    char rendezvous[64];
    struct gw_error why;
    struct gw_comm *comm;
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-bench-memory-%d",
             (int)parent);
    const struct gw_comm_config config = {
        .rank = rank, .size = ranks, .wire = wire, .rendezvous = rendezvous};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    atomic_fetch_add(&shared->ready, 1);
    await(&shared->go, 1);
    float *in = buffer(), *out = buffer();
    if (gw_comm_create(&config, &comm, &why))
        fail("joining", why.text);
    for (unsigned i = 0; i < CALLS; i++)
        if (gw_allreduce(comm, in, out, bytes / sizeof *in, GW_F32, GW_SUM))
            fail("all-reduce", gw_comm_error(comm)->text);
    atomic_fetch_add(&shared->done, 1);
    await(&shared->over, 1); /* wait for one more measurement */
    gw_comm_destroy(&comm);
    exit(0);
}

/* ---- measuring ---- */

static size_t resident(pid_t pid)
{
    char path[64], line[256];
    unsigned long kib, sum = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path, "cannot be read");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %lu", &kib) == 1)
            sum += kib;
    fclose(file);
    return sum << 10;
}

static void stop(pid_t pid)
{
    int status;
    kill(pid, SIGSTOP);
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        fail("a rank", "has ended too early");
}

static size_t resident_all(void)
{
    size_t sum = 0;
    for (unsigned r = 0; r < ranks; r++)
        stop(pids[r]);
    for (unsigned r = 0; r < ranks; r++)
        sum += resident(pids[r]);
    for (unsigned r = 0; r < ranks; r++)
        kill(pids[r], SIGCONT);
    return sum;
}

static size_t peak(void)
{
    size_t most = 0;
    unsigned done;
    do {
        done = atomic_load(&shared->done);
        size_t now = resident_all();
        most = now > most ? now : most;
        nap(1000);
    } while (done < ranks);
    return most;
}

int main(int argc, char **argv)
{
    pid_t parent = getpid();
    if (argc < 4)
        fail("usage", "memory WIRE RANKS BYTES [malloc]");
    wire = argv[1];
    ranks = (unsigned)strtoul(argv[2], NULL, 10);
    bytes = strtoul(argv[3], NULL, 10);
    from_malloc = argc > 4 && strcmp(argv[4], "malloc") == 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || ranks == 0 || ranks > RANKS_MAX || bytes < 4)
        fail("ranks, bytes", "out of range");
    for (unsigned r = 0; r < ranks; r++) {
        pids[r] = fork();
        if (pids[r] == 0)
            live(r, parent);
    }
    await(&shared->ready, ranks);
    size_t before = resident_all();
    atomic_store(&shared->go, 1);
    size_t most = peak(), buffers = 2 * bytes * ranks;
    atomic_store(&shared->over, 1);
    while (wait(NULL) > 0)
        ;
    double more = (double)most - (double)before - (double)buffers;
    printf("%.2f\n", more / ranks / (1 << 20));
    return 0;
}
