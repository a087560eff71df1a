/* SPDX-License-Identifier: MIT
 *
 * The learner, its queue and its update; gradwire/actors.h has the idea.
 *
 * An actor that has played a trajectory keeps it until the queue has room,
 * hands it over and begins the next one with the newest parameters. While the
 * learner does not compute, it takes the oldest trajectory of the queue; it
 * computes as soon as it has a batch. Trajectories are numbered and stay in
 * place; only the numbers move between queues.
 *
 * The backend of the actors (actors_parts.h) decides how time passes. If it has
 * threads, all of this runs under a->lock, except the computation of the
 * gradient.
 */
#include "actors_parts.h"
#include "learn/tasks/task.h"
#include "ps/store/update.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- queues of numbers ---- */

static bool queue_init(struct gw__index_queue *queue, unsigned room)
{
    queue->room = room + 1;
    queue->numbers = calloc(queue->room, sizeof *queue->numbers);
    return queue->numbers != NULL;
}

static void queue_push(struct gw__index_queue *queue, unsigned number)
{
    assert(queue->count < queue->room);
    queue->numbers[(queue->first + queue->count++) % queue->room] = number;
}

static unsigned queue_pop(struct gw__index_queue *queue)
{
    unsigned number = queue->numbers[queue->first];
    assert(queue->count > 0);
    queue->first = (queue->first + 1) % queue->room;
    queue->count--;
    return number;
}

/* ---- the queue ---- */

unsigned gw__actors_room(struct gw_actors *a)
{
    return queue_pop(&a->free);
}

void gw__actors_hold(struct gw_actors *a, unsigned actor, unsigned number)
{
    a->held[actor] = number;
    queue_push(&a->holding, actor);
}

/* Takes the trajectory of the actor that has waited longest; that actor
 * continues. */
static unsigned hand_over(struct gw_actors *a)
{
    unsigned actor = queue_pop(&a->holding), number = a->held[actor];
    a->backend->begin(a, actor);
    return number;
}

/* Adds it to the batch, or drops it if it is too old. */
static void admit_trajectory(struct gw_actors *a, unsigned number)
{
    const struct gw__played *p = &a->played[number];
    struct gw_actors_report *r = &a->report;
    if (p->episode) {
        r->episodes++;
        r->mean_return += (double)p->episode;
    }
    if (a->version - p->version <= a->config.max_lag) {
        a->batch[a->batch_count++] = number;
        return;
    }
    r->dropped++;
    queue_push(&a->free, number);
}

void gw__actors_fill_batch(struct gw_actors *a)
{
    for (;;) {
        if (a->holding.count > 0 && a->queue.count < a->config.queue)
            queue_push(&a->queue, hand_over(a));
        else if (a->batch_count == a->config.batch)
            break;
        else if (a->queue.count > 0)
            admit_trajectory(a, queue_pop(&a->queue));
        else if (a->holding.count > 0)
            admit_trajectory(a, hand_over(a));
        else
            return;
    }
    a->computes = true;
}

/* ---- the learner ---- */

/* The version has not changed since the trajectory was accepted. */
static void learn_from(struct gw_actors *a, const struct gw__played *p)
{
    struct gw_actors_report *r = &a->report;
    struct gw__agent_losses losses;
    uint64_t lag = a->version - p->version;
    gw__agent_evaluate(&a->agent, a->rows, &p->trajectory);
    gw__agent_learn(&a->agent, a->rows, &p->trajectory, a->sums, &losses);
    r->policy_loss += losses.policy;
    r->value_loss += losses.value;
    r->entropy += losses.entropy;
    r->trajectories++;
    r->steps += p->trajectory.count;
    r->lag_mean += (double)lag;
    r->lag_max = lag > r->lag_max ? lag : r->lag_max;
}

static enum gw_err diverged(const struct gw_actors *a, const char *what,
                            struct gw_error *why)
{
    return gw_fail(why, GW_EWRONG,
                   "training diverges in update %llu: %s is NaN or infinite; "
                   "try a lower rate",
                   (unsigned long long)a->version + 1, what);
}

void gw__actors_compute(struct gw_actors *a)
{
    size_t floats = gw__actors_floats(a);
    double share =
        1 / ((double)a->config.batch * (double)a->agent.config.unroll);
    memset(a->sums, 0, floats * sizeof *a->sums);
    for (unsigned i = 0; i < a->batch_count; i++)
        learn_from(a, &a->played[a->batch[i]]);
    for (size_t k = 0; k < floats; k++)
        a->gradient[k] = (float)(a->sums[k] * share);
}

/* Samples the queue length and the number of live actors for the report. */
static void sample_queue(struct gw_actors *a)
{
    a->report.queue_mean += a->queue.count;
    a->report.actors_mean += a->alive;
}

enum gw_err gw__actors_apply(struct gw_actors *a, struct gw_error *why)
{
    size_t floats = gw__actors_floats(a);
    sample_queue(a);
    for (unsigned i = 0; i < a->batch_count; i++)
        queue_push(&a->free, a->batch[i]);
    if (gw__first_bad(a->gradient, floats) < floats)
        return diverged(a, "the gradient", why);
    enum gw_err code = gw_table_store_push(a->store, 0, a->keys, a->row_count,
                                           a->gradient, why);
    if (code)
        return code;
    gw_table_store_step(a->store);
    gw_table_store_pull(a->store, 0, a->keys, a->row_count, a->rows);
    if (gw__first_bad(a->rows, floats) < floats)
        return diverged(a, "a parameter", why);
    a->version++;
    a->batch_count = 0;
    a->computes = false;
    return GW_OK;
}

/* ---- reports ---- */

/* Converts sums to means. */
static void average_report(struct gw_actors_report *r)
{
    double steps = r->steps ? (double)r->steps : 1;
    r->mean_return =
        r->episodes ? r->mean_return / (double)r->episodes : (double)NAN;
    r->policy_loss /= steps;
    r->value_loss /= steps;
    r->entropy /= steps;
    r->lag_mean /= r->trajectories ? (double)r->trajectories : 1;
    r->queue_mean /= r->updates ? (double)r->updates : 1;
    r->actors_mean /= r->updates ? (double)r->updates : 1;
}

enum gw_err gw_actors_run(struct gw_actors *a, uint64_t updates,
                          struct gw_actors_report *report, struct gw_error *why)
{
    uint64_t begin_ns = a->backend->now_ns(a), first = a->version;
    enum gw_err code = GW_OK;
    pthread_mutex_lock(&a->lock);
    a->report = (struct gw_actors_report){0};
    a->busy_ns = 0;
    while (!code && a->version - first < updates)
        code = a->backend->turn(a, why);
    a->report.lost = a->config.actors - a->alive;
    *report = a->report;
    pthread_mutex_unlock(&a->lock);
    report->updates = a->version - first;
    report->time_ns = a->backend->now_ns(a) - begin_ns;
    report->busy =
        report->time_ns ? (double)a->busy_ns / (double)report->time_ns : 1;
    average_report(report);
    return code;
}

void gw_actors_stop(struct gw_actors *a, struct gw_counters *counters)
{
    *counters = (struct gw_counters){0};
    if (a->backend->stop)
        a->backend->stop(a, counters);
}

uint64_t gw_actors_digest(const struct gw_actors *a)
{
    return gw_table_store_digest(a->store);
}

/* ---- creation and destruction ---- */

void gw_actors_defaults(struct gw_actors_config *config)
{
    enum { STEP_NS = 100000, UPDATE_NS = 1000000 };
    *config = (struct gw_actors_config){
        .actors = 8,
        .queue = 8,
        .batch = 1,
        .step_ns = STEP_NS,
        .update_ns = UPDATE_NS,
        .jitter = 0.5,
        .max_lag = GW_LAG_ANY,
    };
    struct gw_error why;
    enum gw_err code = gw_task_defaults("cartpole", &config->task, &why);
    if (!code)
        code = gw_task_choose_updater(&config->task, GW_PS_SGD, &why);
    config->task.rate = 1;
    assert(!code);
    (void)code;
}

static enum gw_err check_actors_config(const struct gw_actors_config *config,
                                       struct gw_error *why)
{
    if (config->task.kind != GW_TASK_CARTPOLE)
        return gw_fail(why, GW_EINVAL, "actors need the task cartpole, not %s",
                       gw_task_name(config->task.kind));
    if (config->actors < 1 || config->actors > GW_ACTORS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of actors must be 1 to %d, not %u",
                       GW_ACTORS_MAX, config->actors);
    if (config->queue > GW_ACTORS_QUEUE_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a queue can have at most %d places, not %u",
                       GW_ACTORS_QUEUE_MAX, config->queue);
    if (config->batch < 1 || config->batch > GW__BATCH_MAX)
        return gw_fail(why, GW_EINVAL, "a batch must have 1 to %d trajectories",
                       GW__BATCH_MAX);
    if (!(config->jitter >= 0 && config->jitter <= 1))
        return gw_fail(why, GW_EINVAL, "the jitter must be from 0 to 1, not %g",
                       config->jitter);
    return GW_OK;
}

static enum gw_err allocate_actors(struct gw_actors *a, struct gw_error *why)
{
    const struct gw_actors_config *config = &a->config;
    unsigned count = config->actors + config->queue + config->batch;
    size_t floats = a->row_count * GW__AGENT_WIDTH;
    a->keys = calloc(a->row_count, sizeof *a->keys);
    a->rows = calloc(floats, sizeof *a->rows);
    a->gradient = calloc(floats, sizeof *a->gradient);
    a->sums = calloc(floats, sizeof *a->sums);
    a->held = calloc(config->actors, sizeof *a->held);
    a->played = calloc(count, sizeof *a->played);
    bool made = a->keys && a->rows && a->gradient && a->sums && a->held &&
                a->played && queue_init(&a->free, count) &&
                queue_init(&a->queue, config->queue) &&
                queue_init(&a->holding, config->actors);
    for (unsigned i = 0; made && i < count; i++) {
        struct gw__trajectory *t = &a->played[i].trajectory;
        t->steps = calloc(a->agent.config.unroll, sizeof *t->steps);
        made = t->steps != NULL;
        queue_push(&a->free, i);
    }
    return made ? GW_OK : gw_fail(why, GW_ENOMEM, "%u trajectories", count);
}

static enum gw_err open_tables(struct gw_actors *a, struct gw_error *why)
{
    struct gw__agent_config agent;
    unsigned count;
    enum gw_err code = gw_task_new(&a->config.task, &a->task, why);
    if (code)
        return code;
    gw__cartpole_agent(&a->config.task, &agent);
    agent.targets = a->config.targets;
    agent.plain = a->config.plain;
    a->row_count = gw__agent_rows(&agent);
    const struct gw_ps_table_config *tables = gw_task_tables(a->task, &count);
    code = gw__agent_init(&a->agent, &agent, why);
    return code ? code : gw_table_store_new(tables, count, &a->store, why);
}

enum gw_err gw__actors_make(const struct gw_actors_config *config,
                            const struct gw__actors_backend *backend,
                            struct gw_actors **actors, struct gw_error *why)
{
    *actors = NULL;
    enum gw_err code = check_actors_config(config, why);
    if (code)
        return code;
    struct gw_actors *a = calloc(1, sizeof *a);
    if (!a)
        return gw_fail(why, GW_ENOMEM, "actors");
    a->config = *config;
    a->backend = backend;
    a->alive = config->actors;
    pthread_mutex_init(&a->lock, NULL);
    code = open_tables(a, why);
    if (!code)
        code = allocate_actors(a, why);
    if (code) {
        gw_actors_destroy(&a);
        return code;
    }
    for (size_t k = 0; k < a->row_count; k++)
        a->keys[k] = k;
    gw_table_store_pull(a->store, 0, a->keys, a->row_count, a->rows);
    *actors = a;
    return GW_OK;
}

void gw_actors_destroy(struct gw_actors **actors)
{
    struct gw_actors *a = *actors;
    if (!a)
        return;
    a->backend->destroy(a);
    for (unsigned i = 0; a->played && i + 1 < a->free.room; i++)
        free(a->played[i].trajectory.steps);
    free(a->played);
    free(a->held);
    free(a->keys);
    free(a->rows);
    free(a->gradient);
    free(a->sums);
    free(a->free.numbers);
    free(a->queue.numbers);
    free(a->holding.numbers);
    gw__agent_fini(&a->agent);
    gw_table_store_destroy(&a->store);
    gw_task_destroy(&a->task);
    pthread_mutex_destroy(&a->lock);
    free(a);
    *actors = NULL;
}
