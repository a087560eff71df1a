/* SPDX-License-Identifier: MIT
 *
 * See communicator.h. Making and freeing; connect.c connects the ranks.
 */
#include "communicator.h"

#include "connect.h"
#include "operation.h"

#include <gradwire/base.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLS_BEFORE_OPEN = 4,
    LIVE_MAX = 128 /* each has file descriptors and shared memory */
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* of the list */
    int key, tag;
    MPI_Comm self;
    struct gw__mpi_comm *first;
    struct gw__mpi_comm *newest; /* with `one_thread`: of the newest call */
    int live;
    bool usable, closed, one_thread;
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
    free(c->repeated);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* MPI's communicator ends. Calls that are pending on it are still valid. */
static int on_delete(MPI_Comm mpi, int key, void *value, void *extra)
{
    struct gw__mpi_comm *c = value;
    (void)mpi, (void)key, (void)extra;
    all.newest = NULL;
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
    all.newest = NULL;
    for (struct gw__mpi_comm *c = all.first; c; c = c->next)
        gw_comm_destroy(&c->comm);
    pthread_mutex_unlock(&all.lock);
}

/* ---- the beginning ---- */

/* Before MPI_Init there are no predefined communicators: a program that has only
 * sessions is left to the MPI. */
static void open_once(void)
{
    int initialized = 0, level;
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
    PMPI_Query_thread(&level);
    all.one_thread = level < MPI_THREAD_MULTIPLE;
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
    if (gw__mpi_agree(c, is_wanted()))
        gw__mpi_connect(c);
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
    if (!c->comm)
        return NULL;
    if (all.one_thread)
        all.newest = c;
    return c;
}

struct gw__mpi_comm *gw__mpi_comm_newest(MPI_Comm mpi)
{
    return all.newest && all.newest->mpi == mpi ? all.newest : NULL;
}

bool gw__mpi_comm_is_newest(const struct gw__mpi_comm *c)
{
    return all.newest == c;
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
