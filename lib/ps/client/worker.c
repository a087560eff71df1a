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
static const size_t piece_bytes = 2 << 20;

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
    if (worker->config.piece_bytes == 0)
        worker->config.piece_bytes = piece_bytes;
    gw__pool_init(&worker->pool, worker->config.piece_bytes);
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        worker->requests[i].worker = worker;
    return GW_OK;
}

void gw__job_free(struct gw__job *request)
{
    struct gw__worker *worker = request->worker;
    if (request->cut)
        gw__cut_release(request->cut);
    free(request->own);
    memset(request, 0, sizeof *request);
    request->worker = worker;
}

void gw__worker_destroy(struct gw__worker **made)
{
    struct gw__worker *worker = *made;
    if (!worker)
        return;
    *made = NULL;
    for (unsigned i = 0; i < GW__PARTITION_MAX; i++)
        while (worker->errands[i].flights)
            gw__attempt_end(worker, worker->errands[i].flights);
    while (worker->free_flights) {
        struct gw__attempt *flight = worker->free_flights;
        worker->free_flights = flight->next;
        free(flight);
    }
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        gw__job_free(&worker->requests[i]);
    gw__cuts_forget(worker);
    gw__pool_fini(&worker->pool);
    free(worker->scratch);
    free(worker->copied);
    free(worker->some_keys);
    free(worker);
}

/* ---- requests ---- */

struct gw__job *gw__job_new(struct gw__worker *worker, uint64_t now_ns)
{
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++) {
        struct gw__job *request = &worker->requests[i];
        if (request->id != 0)
            continue;
        request->id = ++worker->generation * GW__REQUESTS_MAX + i;
        request->began_ns = now_ns;
        request->server = GW__NO_NODE;
        return request;
    }
    return NULL;
}

static struct gw__job *find_request(struct gw__worker *worker, uint64_t id)
{
    struct gw__job *request = &worker->requests[id % GW__REQUESTS_MAX];
    return id && request->id == id ? request : NULL;
}

static bool has_pieces(const struct gw__job *request)
{
    return request->cut && request->next_piece < request->cut->piece_count;
}

static bool is_acknowledged(const struct gw__job *request)
{
    return request->errands == 0 && !has_pieces(request);
}

static bool request_has_ended(const struct gw__job *request)
{
    return is_acknowledged(request) && request->lent == 0;
}

static void enqueue(struct gw__worker *worker, struct gw__job *request)
{
    request->next = NULL;
    if (worker->first)
        worker->last->next = request;
    else
        worker->first = request;
    worker->last = request;
}

void gw__job_settle(struct gw__job *request)
{
    if (request->detached && request_has_ended(request))
        gw__job_free(request);
}

/* Removes requests without partitions left to begin from the queue. */
static void sweep_queue(struct gw__worker *worker)
{
    struct gw__job *request = worker->first;
    worker->first = worker->last = NULL;
    while (request) {
        struct gw__job *next = request->next;
        request->next = NULL;
        if (has_pieces(request))
            enqueue(worker, request);
        request = next;
    }
}

void gw__job_fail(struct gw__job *request, enum gw_err code, const char *text)
{
    if (!request->failed.code)
        gw_fail(&request->failed, code, "%s", text);
    if (request->cut)
        request->next_piece = request->cut->piece_count;
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
        return &worker->errands[(*at)++];
    }
    return NULL;
}

struct gw__partition *gw__partition_new(struct gw__worker *worker,
                                        struct gw__job *request)
{
    for (unsigned i = 0; i < GW__PARTITION_MAX; i++) {
        struct gw__partition *errand = &worker->errands[i];
        if (errand->request)
            continue;
        uint64_t serial = errand->serial;
        *errand = (struct gw__partition){.request = request, .serial = serial};
        worker->busy[i / 64] |= (uint64_t)1 << i % 64;
        worker->pulls += !gw__is_push(request);
        request->errands++;
        return errand;
    }
    return NULL;
}

/* Raises the low watermark over all numbers that have ended. */
static void end_sequence(struct gw__worker *worker, uint64_t sequence)
{
    worker->ended |= (uint64_t)1 << (sequence - worker->floor - 1);
    while (worker->ended & 1) {
        worker->ended >>= 1;
        worker->floor++;
    }
}

void gw__partition_end(struct gw__worker *worker, struct gw__partition *errand)
{
    struct gw__job *request = errand->request;
    unsigned i = (unsigned)(errand - worker->errands);
    while (errand->flights)
        gw__attempt_end(worker, errand->flights);
    if (errand->sequence)
        end_sequence(worker, errand->sequence);
    if (errand->unit)
        gw__unit_release(errand->unit);
    worker->pulls -= !gw__is_push(request);
    worker->busy[i / 64] &= ~((uint64_t)1 << i % 64);
    errand->unit = NULL;
    errand->sequence = 0;
    errand->request = NULL;
    request->errands--;
    gw__job_settle(request);
}

static bool may_begin(const struct gw__worker *worker,
                      const struct gw__job *request)
{
    return gw__is_push(request)
               ? worker->last_sequence < worker->floor + GW__PUSHES_MAX
               : worker->pulls < GW__PARTITION_MAX - GW__PUSHES_MAX;
}

static bool begin_piece(struct gw__worker *worker, struct gw__job *request,
                        uint64_t now_ns)
{
    struct gw__partition *errand = gw__partition_new(worker, request);
    if (!errand)
        return false;
    errand->piece = &request->cut->pieces[request->next_piece];
    errand->todo = errand->piece->slots;
    if (gw__attempt_begin(worker, errand, now_ns)) {
        gw__partition_end(worker, errand);
        return false; /* the next tick tries again */
    }
    request->next_piece++;
    if (gw__is_push(request))
        errand->sequence = ++worker->last_sequence;
    gw__attempt_send(worker, errand->flights, now_ns);
    return true;
}

void gw__worker_pump(struct gw__worker *worker, uint64_t now_ns)
{
    bool blocked[2] = {false, false}, finished = false;
    struct gw__job *request = worker->first;
    for (; request && !(blocked[0] && blocked[1]); request = request->next) {
        bool *wait = &blocked[gw__is_push(request)];
        while (!*wait && has_pieces(request))
            *wait = !may_begin(worker, request) ||
                    !begin_piece(worker, request, now_ns);
        finished = finished || !has_pieces(request);
    }
    if (finished)
        sweep_queue(worker);
}

/* ---- access ---- */

static enum gw_err check_values(struct gw__worker *worker,
                                const struct gw__access *access, uint32_t width,
                                struct gw_error *why)
{
    size_t count = access->count * width;
    size_t bad = gw__first_bad(access->values, count);
    bool large = false;
    if (bad == count && worker->config.half) {
        bad = gw__first_large(access->values, count);
        large = bad < count;
    }
    if (bad == count)
        return GW_OK;
    worker->nans++;
    return gw_fail(why, GW_ENUMERIC,
                   large
                       ? "key %llu, column %zu: %g does not fit half precision"
                       : "key %llu, column %zu: %g is not a finite number",
                   (unsigned long long)access->keys[bad / width], bad % width,
                   (double)access->values[bad]);
}

static enum gw_err check_access(struct gw__worker *worker,
                                const struct gw__access *access,
                                struct gw_error *why)
{
    const struct gw__routes *routes = &worker->routes;
    if (routes->slot_count == 0)
        return gw_fail(why, GW_EUNREACH, "there is no parameter server yet");
    if (access->table >= routes->table_count)
        return gw_fail(why, GW_EINVAL,
                       "table %u does not exist; there are %u tables",
                       access->table, routes->table_count);
    if (access->count >= UINT32_MAX)
        return gw_fail(why, GW_EINVAL, "%zu keys", access->count);
    if (!access->values)
        return GW_OK;
    return check_values(worker, access, routes->tables[access->table].width,
                        why);
}

static void count_access(struct gw__worker *worker,
                         const struct gw__access *access)
{
    struct gw_ps_counts *counts = &worker->counts;
    counts->pushes += access->values != NULL;
    counts->push_keys += access->values ? access->count : 0;
    counts->pulls += access->out != NULL;
    counts->pull_keys += access->out ? access->count : 0;
}

enum gw_err gw__worker_access(struct gw__worker *worker, uint64_t now_ns,
                              const struct gw__access *access,
                              uint64_t *request_id, struct gw_error *why)
{
    enum gw_err err = check_access(worker, access, why);
    if (err)
        return err;
    struct gw__job *request = gw__job_new(worker, now_ns);
    if (!request)
        return GW_PENDING;
    request->access = *access;
    request->width = worker->routes.tables[access->table].width;
    err = gw__cut_get(worker, access, &request->cut, why);
    if (err) {
        gw__job_free(request);
        return err;
    }
    count_access(worker, access);
    *request_id = request->id;
    enqueue(worker, request);
    gw__worker_pump(worker, now_ns);
    return GW_OK;
}

/* ---- results ---- */

enum gw_err gw__worker_result(struct gw__worker *worker, uint64_t request_id,
                              struct gw_error *why)
{
    struct gw__job *request = find_request(worker, request_id);
    if (!request || request->detached)
        return gw_fail(why, GW_EINVAL, "the request does not exist");
    if (!request_has_ended(request))
        return GW_PENDING;
    enum gw_err err = request->failed.code;
    if (err)
        gw_fail(why, err, "%s", request->failed.text);
    gw__job_free(request);
    return err;
}

/* Ends the partitions of a request whose result is not wanted. */
static void end_errands(struct gw__worker *worker, const struct gw__job *job)
{
    struct gw__partition *errand;
    for (unsigned at = 0; (errand = gw__partition_next(worker, &at));)
        if (errand->request == job)
            gw__partition_end(worker, errand);
}

enum gw_err gw__worker_detach(struct gw__worker *worker, uint64_t request_id)
{
    struct gw__job *request = find_request(worker, request_id);
    if (!request)
        return GW_OK;
    size_t bytes = request->access.count * request->width * sizeof(float);
    if (gw__is_push(request) && !is_acknowledged(request)) {
        request->own = malloc(bytes);
        if (!request->own)
            return GW_ENOMEM;
        memcpy(request->own, request->access.values, bytes);
        request->access.values = request->own;
    }
    request->access.out = NULL;
    request->access.lend = false;
    request->work = NULL;
    request->said = NULL;
    request->detached = true;
    if (request->cut)
        request->next_piece = request->cut->piece_count;
    sweep_queue(worker);
    if (!gw__is_push(request) && request->errands > 0)
        end_errands(worker, request); /* the last one frees it */
    else
        gw__job_settle(request);
    return GW_OK;
}

unsigned gw__worker_pushes(const struct gw__worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++) {
        const struct gw__job *request = &worker->requests[i];
        count +=
            request->id && gw__is_push(request) && !is_acknowledged(request);
    }
    return count;
}
