/* SPDX-License-Identifier: MIT
 *
 * See pending.h. `lock` protects the list. It is taken before the lock of a
 * communicator, which is only tried: the thread that holds it makes progress
 * itself.
 */
#include "pending.h"

#include "operation.h"
#include "trace.h"

#include <stdatomic.h>
#include <time.h>

enum { POLL_NS = 200000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct gw__mpi_operation *first;
    pthread_t thread;
    bool runs, stops;
    atomic_uint count, tags;
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .filled = PTHREAD_COND_INITIALIZER};

int gw__mpi_new_tag(void)
{
    return (int)(atomic_fetch_add(&pending.tags, 1) %
                 (unsigned)gw__mpi_unused_tag());
}

bool gw__mpi_is_pending(void)
{
    return atomic_load_explicit(&pending.count, memory_order_acquire) > 0;
}

/* ---- progress ---- */

static void test_one(struct gw__mpi_operation *o)
{
    if (o->ended || pthread_mutex_trylock(&o->comm->lock))
        return;
    o->err = gw_test(&o->request);
    o->ended = o->err != GW_PENDING;
    pthread_mutex_unlock(&o->comm->lock);
}

/* Removes and returns a call that has ended, or NULL. */
static struct gw__mpi_operation *test_all(bool remove)
{
    struct gw__mpi_operation *ended = NULL;
    pthread_mutex_lock(&pending.lock);
    struct gw__mpi_operation **at = &pending.first;
    while (*at && !ended) {
        test_one(*at);
        if (remove && (*at)->ended) {
            ended = *at;
            *at = ended->next;
        } else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&pending.lock);
    return ended;
}

static void release_type(struct gw__mpi_operation *o)
{
    if (o->owns_type)
        PMPI_Type_free(&o->mpi.recv.type);
    o->owns_type = false;
}

/* Completes the result and the handle. */
static int complete(struct gw__mpi_operation *o)
{
    struct gw__mpi_comm *c = o->comm;
    int code =
        o->err ? gw__mpi_comm_fail(c, gw__mpi_kind_name(o->mpi.kind), o->err)
               : gw__mpi_operation_finish(o);
    int tag = o->tag;
    release_type(o);
    pthread_mutex_lock(&c->lock);
    gw__mpi_operation_recycle(o);
    pthread_mutex_unlock(&c->lock);
    gw__mpi_comm_release(c);
    PMPI_Send(NULL, 0, MPI_BYTE, 0, tag, gw__mpi_self());
    atomic_fetch_sub(&pending.count, 1);
    return code;
}

int gw__mpi_progress(void)
{
    int first = MPI_SUCCESS;
    struct gw__mpi_operation *ended;
    while (gw__mpi_is_pending() && (ended = test_all(true))) {
        int code = complete(ended);
        first = first == MPI_SUCCESS ? code : first;
    }
    return first;
}

/* ---- the thread ---- */

static void *poll_pending(void *unused)
{
    const struct timespec nap = {.tv_nsec = POLL_NS};
    (void)unused;
    pthread_mutex_lock(&pending.lock);
    while (!pending.stops) {
        if (!pending.first) {
            pthread_cond_wait(&pending.filled, &pending.lock);
            continue;
        }
        pthread_mutex_unlock(&pending.lock);
        (void)test_all(false);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&pending.lock);
    }
    pthread_mutex_unlock(&pending.lock);
    return NULL;
}

/* Without the thread, calls still progress when the program waits for them. */
static void wake_thread(void)
{
    if (!pending.runs)
        pending.runs =
            pthread_create(&pending.thread, NULL, poll_pending, NULL) == 0;
    pthread_cond_signal(&pending.filled);
}

void gw__mpi_pending_fini(void)
{
    pthread_mutex_lock(&pending.lock);
    bool runs = pending.runs;
    pending.stops = true;
    pthread_cond_signal(&pending.filled);
    pthread_mutex_unlock(&pending.lock);
    if (runs)
        pthread_join(pending.thread, NULL);
}

/* ---- starting ---- */

/* The user may free a type while the call is pending. Only that of a result is
 * needed after the start. */
static bool keep_type(MPI_Datatype *type)
{
    MPI_Datatype own;
    if (*type == MPI_DATATYPE_NULL || gw__mpi_type_is_named(*type) ||
        PMPI_Type_dup(*type, &own))
        return false;
    *type = own;
    return true;
}

static void append(struct gw__mpi_operation *o)
{
    pthread_mutex_lock(&pending.lock);
    struct gw__mpi_operation **end = &pending.first;
    while (*end)
        end = &(*end)->next;
    o->next = NULL;
    *end = o;
    atomic_fetch_add(&pending.count, 1);
    wake_thread();
    pthread_mutex_unlock(&pending.lock);
}

int gw__mpi_start(struct gw__mpi_comm *c, const struct gw__mpi_call *call,
                  int tag)
{
    pthread_mutex_lock(&c->lock);
    struct gw__mpi_operation *o = gw__mpi_operation_prepare(c, call);
    if (o) {
        o->tag = tag;
        o->err = gw_start(c->comm, &o->call, &o->request);
        o->ended = o->err != GW_OK;
        c->pending++;
        o->owns_type = o->finish && keep_type(&o->mpi.recv.type);
    }
    pthread_mutex_unlock(&c->lock);
    if (!o)
        return gw__mpi_comm_fail(c, gw__mpi_kind_name(call->kind), GW_ENOMEM);
    gw__mpi_trace_call(o, 0);
    append(o);
    return MPI_SUCCESS;
}

int gw__mpi_start_new(struct gw__mpi_comm *c, const struct gw__mpi_call *call,
                      MPI_Request *request)
{
    int tag = gw__mpi_new_tag();
    int code = PMPI_Irecv(NULL, 0, MPI_BYTE, 0, tag, gw__mpi_self(), request);
    return code == MPI_SUCCESS ? gw__mpi_start(c, call, tag) : code;
}
