/* SPDX-License-Identifier: MIT
 *
 * See communicator.h. The ranks of a new communicator find each other through
 * the MPI: rank 0 broadcasts a rendezvous, all gather the identities of their
 * hosts, and afterwards all agree on whether every rank has been connected.
 *
 * A rank may compute for hours before it enters a collective, so that there is
 * no limit without progress: TIMEOUT_MS is 24 days. A rank that ends is found
 * by the wire.
 */
#include "communicator.h"

#include "operation.h"
#include "trace.h"

#include <gradwire/base.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 24 * 86400 * 1000,
    CONNECT_MS = 20000,
    SLEEP_US = 200,
    CALLS_BEFORE_OPEN = 4,
    LIVE_MAX = 128 /* each has file descriptors and shared memory */
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* of the list */
    int key, tag;
    MPI_Comm self;
    struct gw__mpi_comm *first;
    int live;
    bool usable, closed;
} all = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the end ---- */

static void unlist(struct gw__mpi_comm *c)
{
    pthread_mutex_lock(&all.lock);
    struct gw__mpi_comm **at = &all.first;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    all.live -= c->comm != NULL;
    pthread_mutex_unlock(&all.lock);
}

static void destroy(struct gw__mpi_comm *c)
{
    unlist(c);
    gw_comm_destroy(&c->comm);
    gw__mpi_operations_free(c->idle);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* MPI's communicator ends. Calls that are pending on it are still valid. */
static int on_delete(MPI_Comm mpi, int key, void *value, void *extra)
{
    struct gw__mpi_comm *c = value;
    (void)mpi, (void)key, (void)extra;
    pthread_mutex_lock(&c->lock);
    bool last = c->pending == 0;
    c->freed = true;
    pthread_mutex_unlock(&c->lock);
    if (last)
        destroy(c);
    return MPI_SUCCESS;
}

void gw__mpi_comm_retain(struct gw__mpi_comm *c)
{
    pthread_mutex_lock(&c->lock);
    c->pending++;
    pthread_mutex_unlock(&c->lock);
}

void gw__mpi_comm_release(struct gw__mpi_comm *c)
{
    pthread_mutex_lock(&c->lock);
    bool last = --c->pending == 0 && c->freed;
    pthread_mutex_unlock(&c->lock);
    if (last)
        destroy(c);
}

void gw__mpi_comm_close_all(void)
{
    pthread_mutex_lock(&all.lock);
    all.closed = true;
    for (struct gw__mpi_comm *c = all.first; c; c = c->next)
        gw_comm_destroy(&c->comm);
    pthread_mutex_unlock(&all.lock);
}

/* ---- the beginning ---- */

/* Before MPI_Init there are no predefined communicators: a program that has only
 * sessions is left to the MPI. */
static void open_once(void)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    all.usable = initialized;
    if (!initialized)
        return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &all.key, NULL);
    PMPI_Comm_dup(MPI_COMM_SELF, &all.self);
    PMPI_Comm_set_errhandler(all.self, MPI_ERRORS_RETURN);
    int *most, found = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&most, &found);
    all.tag = found ? *most : 32767;
}

MPI_Comm gw__mpi_self(void)
{
    pthread_once(&all.once, open_once);
    return all.self;
}

int gw__mpi_unused_tag(void)
{
    pthread_once(&all.once, open_once);
    return all.tag;
}

/* Names the host and its network namespace: those of abstract sockets. */
static uint64_t host_identity(void)
{
    char boot[40] = "";
    struct stat net = {0};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(boot, sizeof boot, file))
        boot[0] = 0;
    if (file)
        fclose(file);
    if (stat("/proc/self/ns/net", &net))
        net.st_ino = 0;
    return gw_hash(boot, strlen(boot), net.st_ino);
}

static bool share_host(const struct gw__mpi_comm *c)
{
    uint64_t own = host_identity(), least, most, inverse = ~own;
    PMPI_Allreduce(&own, &least, 1, MPI_UINT64_T, MPI_MIN, c->mpi);
    PMPI_Allreduce(&inverse, &most, 1, MPI_UINT64_T, MPI_MIN, c->mpi);
    return least == ~most;
}

/* Rank 0 draws an endpoint. "": there is none between these hosts. */
static void agree_on_endpoint(const struct gw__mpi_comm *c, bool one_host,
                              char endpoint[128])
{
    const char *address = getenv("GW_INTERFACE");
    struct gw_rng rng;
    gw_rng_seed(&rng, gw_now_ns() ^ (uint64_t)getpid() << 32);
    memset(endpoint, 0, 128);
    if (one_host)
        snprintf(endpoint, 128, "ipc://@gradwire-mpi-%016llx",
                 (unsigned long long)gw_rng_next(&rng));
    else if (address)
        snprintf(endpoint, 128, "tcp://%.90s:%u", address,
                 20000 + (unsigned)gw_rng_below(&rng, 12000));
    PMPI_Bcast(endpoint, 128, MPI_CHAR, 0, c->mpi);
}

/* The decision of all ranks: true if all say so. */
static bool agree(const struct gw__mpi_comm *c, bool own)
{
    int mine = own, least = 0;
    PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, c->mpi);
    return least;
}

static bool connect_ranks(struct gw__mpi_comm *c)
{
    const char *wire = getenv("GW_WIRE");
    bool one_host = share_host(c);
    char endpoint[128];
    struct gw_error why = {0};
    agree_on_endpoint(c, one_host, endpoint);
    if (!endpoint[0]) {
        gw__mpi_trace_note("ranks on several hosts: set GW_INTERFACE to the "
                           "address of each host");
        return false;
    }
    const struct gw_comm_config config = {
        .rank = (unsigned)c->rank,
        .size = (unsigned)c->size,
        .rendezvous = endpoint,
        .wire = wire       ? wire
                : one_host ? "shm"
                           : "tcp",
        .connect_ms = CONNECT_MS,
        .timeout_ms = TIMEOUT_MS,
        .sleep_us = SLEEP_US,
        .key_file = getenv("GRADWIRE_KEY"),
        .interface = getenv("GW_INTERFACE"),
        .insecure = getenv("GW_INSECURE") != NULL,
        .events = c->mpi == MPI_COMM_WORLD ? gw__mpi_trace_sink() : NULL,
    };
    if (gw_comm_create(&config, &c->comm, &why))
        gw__mpi_trace_note(why.text);
    return c->comm != NULL;
}

/* Whether this rank can have one more, and the library is wanted. */
static bool is_wanted(void)
{
    const char *off = getenv("GRADWIRE_MPI");
    return !all.closed && all.live < LIVE_MAX &&
           !(off && strcmp(off, "0") == 0);
}

static struct gw__mpi_comm *new_comm(MPI_Comm mpi)
{
    int inter;
    struct gw__mpi_comm *c = calloc(1, sizeof *c);
    if (!c) /* the other ranks will learn it from the MPI */
        return NULL;
    c->mpi = mpi;
    pthread_mutex_init(&c->lock, NULL);
    PMPI_Comm_test_inter(mpi, &inter);
    PMPI_Comm_rank(mpi, &c->rank);
    PMPI_Comm_size(mpi, &c->size);
    c->decided = inter || c->size == 1;
    pthread_mutex_lock(&all.lock);
    c->next = all.first;
    all.first = c;
    pthread_mutex_unlock(&all.lock);
    PMPI_Comm_set_attr(mpi, all.key, c);
    return c;
}

static void open_comm(struct gw__mpi_comm *c)
{
    c->decided = true;
    if (!agree(c, is_wanted()))
        return;
    if (!agree(c, connect_ranks(c)))
        gw_comm_destroy(&c->comm);
    pthread_mutex_lock(&all.lock);
    all.live += c->comm != NULL;
    pthread_mutex_unlock(&all.lock);
}

struct gw__mpi_comm *gw__mpi_comm_find(MPI_Comm mpi, bool create)
{
    struct gw__mpi_comm *c = NULL;
    int found = 0;
    if (mpi == MPI_COMM_NULL)
        return NULL;
    pthread_once(&all.once, open_once);
    if (!all.usable || PMPI_Comm_get_attr(mpi, all.key, (void *)&c, &found))
        return NULL;
    if (!found)
        c = new_comm(mpi);
    if (!c)
        return NULL;
    if (!c->decided && create &&
        (mpi == MPI_COMM_WORLD || ++c->calls == CALLS_BEFORE_OPEN))
        open_comm(c);
    return c->comm ? c : NULL;
}

int gw__mpi_comm_fail(const struct gw__mpi_comm *c, const char *name,
                      enum gw_err err)
{
    int class, code;
    char text[MPI_MAX_ERROR_STRING];
    const struct gw_error *why = gw_comm_error(c->comm);
    snprintf(text, sizeof text, "gradwire: %s: %.200s", name,
             why->code ? why->text : gw_err_text(err));
    fprintf(stderr, "gradwire: %s: %s\n", name, why->text);
    PMPI_Add_error_class(&class);
    PMPI_Add_error_code(class, &code);
    PMPI_Add_error_string(code, text);
    PMPI_Comm_call_errhandler(c->freed ? MPI_COMM_WORLD : c->mpi, code);
    return code;
}
