/* SPDX-License-Identifier: MIT
 *
 * See trace.h. The algorithm and its predicted time are those of the largest
 * call of a row, looked up when the table is printed.
 */
#include "trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6 };

static const struct {
    size_t bytes;
    const char *text;
} sizes[SIZES] = {{64, "64 B"},         {1 << 10, "1 KiB"},
                  {16 << 10, "16 KiB"}, {256 << 10, "256 KiB"},
                  {4 << 20, "4 MiB"},   {SIZE_MAX, "more"}};

/* A row of the table: calls that were taken, and those that fell through. */
struct trace_row {
    uint64_t calls, fallen, timed, ns;
    struct gw_call largest;
    unsigned ranks;
    char wire[16];
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    bool on, events;
    struct trace_row rows[GW__MPI_KIND_COUNT][SIZES];
    uint64_t falls[GW__MPI_KIND_COUNT][GW__MPI_REASON_COUNT];
    struct gw_sink *sink;
    FILE *file;
} trace = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void open_events(void)
{
    int rank;
    char name[64];
    struct gw_error why = {0};
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "gradwire-mpi.%d.jsonl", rank);
    trace.file = fopen(name, "we");
    if (!trace.file || gw_sink_jsonl(trace.file, 1, &trace.sink, &why))
        fprintf(stderr, "gradwire: %s cannot be written: %s\n", name,
                trace.file ? why.text : "check the folder's permissions");
}

static void read_wish(void)
{
    const char *wish = getenv("GRADWIRE_MPI_TRACE");
    trace.on = wish && *wish && strcmp(wish, "0") != 0;
    if (trace.on && strcmp(wish, "events") == 0)
        open_events();
}

bool gw__mpi_trace_is_on(void)
{
    pthread_once(&trace.once, read_wish);
    return trace.on;
}

uint64_t gw__mpi_trace_now(void)
{
    return gw__mpi_trace_is_on() ? gw_now_ns() : 0;
}

static size_t bytes_of(const struct gw_call *call, int ranks)
{
    size_t elems = call->count;
    for (int r = 0; call->counts && r < ranks; r++)
        elems += call->counts[r];
    return call->collective == GW_BARRIER ? 0
                                          : elems * gw_dtype_size(call->type);
}

static struct trace_row *row_of(enum gw__mpi_kind kind, size_t bytes)
{
    unsigned size = 0;
    while (bytes > sizes[size].bytes)
        size++;
    return &trace.rows[kind][size];
}

void gw__mpi_trace_call(const struct gw__mpi_operation *o, uint64_t begin_ns)
{
    if (!gw__mpi_trace_is_on())
        return;
    struct trace_row *row =
        row_of(o->mpi.kind, bytes_of(&o->call, o->comm->size));
    pthread_mutex_lock(&trace.lock);
    if (row->calls++ == 0 || o->call.count > row->largest.count) {
        row->largest = o->call;
        row->ranks = (unsigned)o->comm->size;
        snprintf(row->wire, sizeof row->wire, "%s",
                 gw_comm_wire(o->comm->comm));
    }
    if (begin_ns) {
        row->timed++;
        row->ns += gw_now_ns() - begin_ns;
    }
    pthread_mutex_unlock(&trace.lock);
}

/* Bytes of a call that falls through; 0 if its arguments are not valid. */
static size_t bytes_of_fallen(const struct gw__mpi_call *call)
{
    int rank, ranks, bytes;
    if (call->comm == MPI_COMM_NULL)
        return 0;
    PMPI_Comm_rank(call->comm, &rank);
    PMPI_Comm_size(call->comm, &ranks);
    bool receives = gw__mpi_has_recv(call, rank);
    if (!gw__mpi_call_is_valid(call, rank, ranks) ||
        (!receives && !gw__mpi_has_send(call, rank)))
        return 0;
    const struct gw__mpi_shape *shape = receives ? &call->recv : &call->send;
    MPI_Count elems = shape->counts ? 0 : shape->count;
    for (int r = 0; shape->counts && r < ranks; r++)
        elems += shape->counts[r];
    PMPI_Type_size(shape->type, &bytes);
    return (size_t)elems * (size_t)bytes;
}

void gw__mpi_trace_fall(const struct gw__mpi_call *call,
                        enum gw__mpi_reason reason)
{
    if (!gw__mpi_trace_is_on())
        return;
    size_t bytes = bytes_of_fallen(call);
    pthread_mutex_lock(&trace.lock);
    row_of(call->kind, bytes)->fallen++;
    trace.falls[call->kind][reason]++;
    pthread_mutex_unlock(&trace.lock);
}

void gw__mpi_trace_note(const char *sentence)
{
    if (gw__mpi_trace_is_on())
        fprintf(stderr, "gradwire: %s\n", sentence);
}

struct gw_sink *gw__mpi_trace_sink(void)
{
    (void)gw__mpi_trace_is_on();
    return trace.sink;
}

/* ---- the table ---- */

static void print_times(const struct trace_row *row)
{
    const struct gw_call *call = &row->largest;
    struct gw_candidate best = {0};
    size_t found = gw_choose(row->wire, call->collective, row->ranks,
                             call->count, gw_dtype_size(call->type), &best, 1);
    fprintf(stderr, "%11.2f ",
            row->timed ? (double)row->ns / 1e3 / (double)row->timed : 0.0);
    if (found > 0 && !call->counts)
        fprintf(stderr, "%12.2f  %s\n", best.predicted_us, best.algo->name);
    else
        fprintf(stderr, "%12s  -\n", "-");
}

static void print_size(enum gw__mpi_kind kind, unsigned size)
{
    const struct trace_row *row = &trace.rows[kind][size];
    uint64_t calls = row->calls + row->fallen;
    fprintf(stderr, "%-24s %9s %9llu %5.1f%% ", gw__mpi_kind_name(kind),
            sizes[size].text, (unsigned long long)calls,
            100.0 * (double)row->calls / (double)calls);
    if (row->calls > 0)
        print_times(row);
    else
        fprintf(stderr, "%11s %12s  -\n", "-", "-");
}

static void print_falls(enum gw__mpi_kind kind)
{
    static const char *const reasons[] = {
#define X(name, text) text,
        GW__MPI_REASONS(X)
#undef X
    };
    for (unsigned r = 0; r < GW__MPI_REASON_COUNT; r++)
        if (trace.falls[kind][r])
            fprintf(stderr, "%-24s %llu calls fell through: %s\n",
                    gw__mpi_kind_name(kind),
                    (unsigned long long)trace.falls[kind][r], reasons[r]);
}

static void print_table(void)
{
    fprintf(stderr,
            "gradwire: collectives of rank 0\n"
            "%-24s %9s %9s %6s %11s %12s  %s\n",
            "collective", "up to", "calls", "taken", "mean_us", "predicted_us",
            "algorithm");
    for (unsigned kind = 0; kind < GW__MPI_KIND_COUNT; kind++)
        for (unsigned size = 0; size < SIZES; size++)
            if (trace.rows[kind][size].calls || trace.rows[kind][size].fallen)
                print_size((enum gw__mpi_kind)kind, size);
    for (unsigned kind = 0; kind < GW__MPI_KIND_COUNT; kind++)
        print_falls((enum gw__mpi_kind)kind);
}

void gw__mpi_trace_fini(void)
{
    int rank = 0;
    if (!gw__mpi_trace_is_on())
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        print_table();
}
