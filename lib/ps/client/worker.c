/* SPDX-License-Identifier: MIT
 *
 * A worker's requests from begin to end, and the sequence numbers of pushes.
 * worker_parts.h defines the terms.
 *
 * A request whose partitions exceed the window waits in a queue. The queue is
 * processed in order, but pulls may pass waiting pushes and vice versa, since
 * each kind has its own window.
 */
#include "worker_parts.h"

#include "ps/store/update.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t resend_ns = 100000000;
static const size_t range_bytes = 2 << 20;

/* ---- creation and destruction ---- */

enum gw_err gw__worker_new(const struct gw__worker_config *config,
                           struct gw__worker **made, struct gw_error *why)
{
    struct gw__worker *worker = calloc(1, sizeof *worker);
    *made = worker;
    if (!worker)
        return gw_fail(why, GW_ENOMEM, "worker");
    worker->config = *config;
    worker->own_names =
        gw_hash(&config->incarnation, sizeof config->incarnation, 0);
    if (worker->config.resend_ns == 0)
        worker->config.resend_ns = resend_ns;
    if (worker->config.range_bytes == 0)
        worker->config.range_bytes = range_bytes;
    gw__slabs_init(&worker->slabs, worker->config.range_bytes);
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        worker->requests[i].worker = worker;
    return GW_OK;
}

void gw__worker_request_free(struct gw__worker_request *request)
{
    struct gw__worker *worker = request->worker;
    if (request->partitioning)
        gw__partitioning_release(request->partitioning);
    free(request->own);
    memset(request, 0, offsetof(struct gw__worker_request, command));
    request->worker = worker;
}

void gw__worker_destroy(struct gw__worker **made)
{
    struct gw__worker *worker = *made;
    if (!worker)
        return;
    *made = NULL;
    for (unsigned i = 0; i < GW__PARTITION_MAX; i++)
        while (worker->partitions[i].attempts)
            gw__attempt_end(worker, worker->partitions[i].attempts);
    while (worker->free_attempts) {
        struct gw__attempt *attempt = worker->free_attempts;
        worker->free_attempts = attempt->next;
        free(attempt);
    }
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        gw__worker_request_free(&worker->requests[i]);
    gw__partitionings_forget(worker);
    gw__slabs_fini(&worker->slabs);
    free(worker->scratch);
    free(worker->copied);
    free(worker->some_keys);
    free(worker);
}

/* ---- requests ---- */

struct gw__worker_request *gw__worker_request_new(struct gw__worker *worker,
                                                  uint64_t now_ns)
{
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++) {
        struct gw__worker_request *request = &worker->requests[i];
        if (request->id != 0)
            continue;
        request->id = ++worker->generation * GW__REQUESTS_MAX + i;
        request->began_ns = now_ns;
        request->server = GW__NO_NODE;
        return request;
    }
    return NULL;
}

static struct gw__worker_request *find_request(struct gw__worker *worker,
                                               uint64_t id)
{
    struct gw__worker_request *request =
        &worker->requests[id % GW__REQUESTS_MAX];
    return id && request->id == id ? request : NULL;
}

static bool has_ranges(const struct gw__worker_request *request)
{
    return request->partitioning &&
           request->next_range < request->partitioning->range_count;
}

static bool is_acknowledged(const struct gw__worker_request *request)
{
    return request->partitions == 0 && !has_ranges(request);
}

static bool request_has_ended(const struct gw__worker_request *request)
{
    return is_acknowledged(request) && request->borrow_count == 0;
}

static void enqueue(struct gw__worker *worker,
                    struct gw__worker_request *request)
{
    request->next = NULL;
    if (worker->first)
        worker->last->next = request;
    else
        worker->first = request;
    worker->last = request;
}

void gw__worker_request_reap(struct gw__worker_request *request)
{
    if (request->detached && request_has_ended(request))
        gw__worker_request_free(request);
}

/* Removes requests without partitions left to begin from the queue. */
static void sweep_queue(struct gw__worker *worker)
{
    struct gw__worker_request *request = worker->first;
    worker->first = worker->last = NULL;
    while (request) {
        struct gw__worker_request *next = request->next;
        request->next = NULL;
        if (has_ranges(request))
            enqueue(worker, request);
        request = next;
    }
}

void gw__worker_request_fail(struct gw__worker_request *request,
                             enum gw_err code, const char *text)
{
    if (!request->failed.code)
        gw_fail(&request->failed, code, "%s", text);
    if (request->partitioning)
        request->next_range = request->partitioning->range_count;
}

/* ---- partitions ---- */

struct gw__partition *gw__partition_next(struct gw__worker *worker,
                                         unsigned *at)
{
    for (; *at < GW__PARTITION_MAX; *at = (*at / 64 + 1) * 64) {
        uint64_t rest = worker->busy[*at / 64] >> *at % 64;
        if (rest == 0)
            continue;
        *at += (unsigned)__builtin_ctzll(rest);
        return &worker->partitions[(*at)++];
    }
    return NULL;
}

struct gw__partition *gw__partition_new(struct gw__worker *worker,
                                        struct gw__worker_request *request)
{
    for (unsigned i = 0; i < GW__PARTITION_MAX; i++) {
        struct gw__partition *partition = &worker->partitions[i];
        if (partition->request)
            continue;
        uint64_t serial = partition->serial;
        *partition =
            (struct gw__partition){.request = request, .serial = serial};
        worker->busy[i / 64] |= (uint64_t)1 << i % 64;
        worker->pulls += !gw__is_push(request);
        request->partitions++;
        return partition;
    }
    return NULL;
}

/* Raises the low watermark over all numbers that have ended. */
static void end_sequence(struct gw__worker *worker, uint64_t sequence)
{
    worker->ended |= (uint64_t)1 << (sequence - worker->low_watermark - 1);
    while (worker->ended & 1) {
        worker->ended >>= 1;
        worker->low_watermark++;
    }
}

void gw__partition_end(struct gw__worker *worker,
                       struct gw__partition *partition)
{
    struct gw__worker_request *request = partition->request;
    unsigned i = (unsigned)(partition - worker->partitions);
    while (partition->attempts)
        gw__attempt_end(worker, partition->attempts);
    if (partition->sequence)
        end_sequence(worker, partition->sequence);
    if (partition->cell)
        gw__slab_cell_release(partition->cell);
    worker->pulls -= !gw__is_push(request);
    worker->busy[i / 64] &= ~((uint64_t)1 << i % 64);
    partition->cell = NULL;
    partition->sequence = 0;
    partition->request = NULL;
    request->partitions--;
    gw__worker_request_reap(request);
}

static bool may_begin(const struct gw__worker *worker,
                      const struct gw__worker_request *request)
{
    return gw__is_push(request)
               ? worker->last_sequence < worker->low_watermark + GW__PUSHES_MAX
               : worker->pulls < GW__PARTITION_MAX - GW__PUSHES_MAX;
}

static bool begin_range(struct gw__worker *worker,
                        struct gw__worker_request *request, uint64_t now_ns)
{
    struct gw__partition *partition = gw__partition_new(worker, request);
    if (!partition)
        return false;
    partition->range = &request->partitioning->ranges[request->next_range];
    partition->todo = gw__range_whole(partition->range);
    if (gw__attempt_begin(worker, partition, now_ns)) {
        gw__partition_end(worker, partition);
        return false; /* the next tick tries again */
    }
    request->next_range++;
    if (gw__is_push(request))
        partition->sequence = ++worker->last_sequence;
    gw__attempt_send(worker, partition->attempts, now_ns);
    return true;
}

void gw__worker_pump(struct gw__worker *worker, uint64_t now_ns)
{
    bool blocked[2] = {false, false}, finished = false;
    struct gw__worker_request *request = worker->first;
    for (; request && !(blocked[0] && blocked[1]); request = request->next) {
        bool *wait = &blocked[gw__is_push(request)];
        while (!*wait && has_ranges(request))
            *wait = !may_begin(worker, request) ||
                    !begin_range(worker, request, now_ns);
        finished = finished || !has_ranges(request);
    }
    if (finished)
        sweep_queue(worker);
}

/* ---- access ---- */

static enum gw_err check_values(struct gw__worker *worker,
                                const struct gw__request_args *args,
                                uint32_t width, struct gw_error *why)
{
    size_t count = args->count * width;
    size_t bad = gw__first_bad(args->values, count);
    bool large = false;
    if (bad == count && worker->config.half) {
        bad = gw__first_large(args->values, count);
        large = bad < count;
    }
    if (bad == count)
        return GW_OK;
    worker->nans++;
    return gw_fail(why, GW_ENUMERIC,
                   large
                       ? "key %llu, column %zu: %g does not fit half precision"
                       : "key %llu, column %zu: %g is not a finite number",
                   (unsigned long long)args->keys[bad / width], bad % width,
                   (double)args->values[bad]);
}

static enum gw_err check_args(struct gw__worker *worker,
                              const struct gw__request_args *args,
                              struct gw_error *why)
{
    const struct gw__routes *routes = &worker->routes;
    if (routes->slot_count == 0)
        return gw_fail(why, GW_EUNREACH, "there is no parameter server yet");
    if (args->table >= routes->table_count)
        return gw_fail(why, GW_EINVAL,
                       "table %u does not exist; there are %u tables",
                       args->table, routes->table_count);
    if (args->count >= UINT32_MAX)
        return gw_fail(why, GW_EINVAL, "%zu keys", args->count);
    if (!args->values)
        return GW_OK;
    return check_values(worker, args, routes->tables[args->table].width, why);
}

static void count_request(struct gw__worker *worker,
                          const struct gw__request_args *args)
{
    struct gw_ps_counts *counts = &worker->counts;
    counts->pushes += args->values != NULL;
    counts->push_keys += args->values ? args->count : 0;
    counts->pulls += args->out != NULL;
    counts->pull_keys += args->out ? args->count : 0;
}

enum gw_err gw__worker_push_pull(struct gw__worker *worker, uint64_t now_ns,
                                 const struct gw__request_args *args,
                                 uint64_t *request_id, struct gw_error *why)
{
    enum gw_err err = check_args(worker, args, why);
    if (err)
        return err;
    struct gw__worker_request *request = gw__worker_request_new(worker, now_ns);
    if (!request)
        return GW_PENDING;
    request->args = *args;
    request->width = worker->routes.tables[args->table].width;
    err = gw__partitioning_get(worker, args, &request->partitioning, why);
    if (err) {
        gw__worker_request_free(request);
        return err;
    }
    count_request(worker, args);
    *request_id = request->id;
    enqueue(worker, request);
    gw__worker_pump(worker, now_ns);
    return GW_OK;
}

/* ---- results ---- */

enum gw_err gw__worker_result(struct gw__worker *worker, uint64_t request_id,
                              struct gw_error *why)
{
    struct gw__worker_request *request = find_request(worker, request_id);
    if (!request || request->detached)
        return gw_fail(why, GW_EINVAL, "the request does not exist");
    if (!request_has_ended(request))
        return GW_PENDING;
    enum gw_err err = request->failed.code;
    if (err)
        gw_fail(why, err, "%s", request->failed.text);
    gw__worker_request_free(request);
    return err;
}

/* Ends the partitions of a request whose result is not wanted. */
static void end_partitions(struct gw__worker *worker,
                           const struct gw__worker_request *request)
{
    struct gw__partition *partition;
    for (unsigned at = 0; (partition = gw__partition_next(worker, &at));)
        if (partition->request == request)
            gw__partition_end(worker, partition);
}

enum gw_err gw__worker_detach(struct gw__worker *worker, uint64_t request_id)
{
    struct gw__worker_request *request = find_request(worker, request_id);
    if (!request)
        return GW_OK;
    size_t bytes = request->args.count * request->width * sizeof(float);
    if (gw__is_push(request) && !is_acknowledged(request)) {
        request->own = malloc(bytes);
        if (!request->own)
            return GW_ENOMEM;
        memcpy(request->own, request->args.values, bytes);
        request->args.values = request->own;
    }
    request->args.out = NULL;
    request->args.lend = false;
    request->work = NULL;
    request->result = NULL;
    request->detached = true;
    if (request->partitioning)
        request->next_range = request->partitioning->range_count;
    sweep_queue(worker);
    if (!gw__is_push(request) && request->partitions > 0)
        end_partitions(worker, request); /* the last one frees it */
    else
        gw__worker_request_reap(request);
    return GW_OK;
}

unsigned gw__worker_pushes(const struct gw__worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++) {
        const struct gw__worker_request *request = &worker->requests[i];
        count +=
            request->id && gw__is_push(request) && !is_acknowledged(request);
    }
    return count;
}
