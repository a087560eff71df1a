/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of verbs, and those that are about the run as a whole.
 */
#include "supervisor_parts.h"

#include "work.h"

#include <string.h>
#include <unistd.h>

enum { ORACLE_NODES = 31 };

/* ---- looking ---- */

static void verb_hello(const struct request *request)
{
    const struct run *run = request->run;
    char events[ENDPOINT_MAX];
    post_endpoint(run->token, "events", events);
    serve_answer(request->run, &request->asker, GW_OK,
                 json_pack("{s:s, s:I, s:s, s:s}", "run", run->name, "pid",
                           (json_int_t)getpid(), "version", GW_VERSION,
                           "events", events),
                 "run %s", run->name);
}

static void verb_status(const struct request *request)
{
    struct run *run = request->run;
    json_t *status = status_json(run);
    serve_answer(run, &request->asker, GW_OK, status, "run %s: %s", run->name,
                 status_state(run));
}

/* The condition of a request; NULL: it is refused. */
static struct condition *read_condition(const struct request *request,
                                        const char **text)
{
    struct condition *condition = NULL;
    struct gw_error why;
    *text = json_string_value(json_object_get(request->json, "condition"));
    if (!*text)
        refuse(request, GW_EINVAL, "%s wants a condition", request->verb);
    else if (condition_parse(*text, &condition, &why))
        refuse(request, why.code, "%s", why.text);
    return condition;
}

static void verb_wait(const struct request *request)
{
    const char *text;
    struct condition *condition = read_condition(request, &text);
    if (condition)
        later_wait(request, condition, text, request_timeout_ns(request));
}

static void verb_expect(const struct request *request)
{
    const char *text;
    char explained[SENTENCE_MAX];
    struct condition_values values;
    struct condition *condition = read_condition(request, &text);
    if (!condition)
        return;
    status_values(request->run, &values);
    condition_explain(condition, &values, explained, sizeof explained);
    if (condition_holds(condition, &values))
        serve_answer(request->run, &request->asker, GW_OK, NULL, "%s",
                     explained);
    else
        refuse(request, GW_EWRONG, "expected %.200s: %s", text, explained);
    condition_destroy(&condition);
}

/* ---- work ---- */

static bool is_busy(const struct request *request)
{
    struct run *run = request->run;
    struct condition_values now;
    status_values(run, &now);
    if (run->work.kind == WORK_NONE || now.of[COND_done] > 0)
        return false;
    refuse(request, GW_EINVAL,
           "the ring is at work already: step %.0f of %s; it takes new work "
           "when that is done",
           now.of[COND_step],
           run->work.kind == WORK_OPS ? "ops" : run->work.model);
    return true;
}

/* Reads it once, so that what is wrong with it is told here. */
static enum gw_err try_work(struct run *run, const struct work_order *order,
                            struct gw_error *why)
{
    struct work *work = NULL;
    enum gw_err code = GW_OK;
    if (order->kind == WORK_TRAIN) {
        code = work_load(order, run->options.seed, &work, why);
        work_destroy(&work);
    }
    for (unsigned n = ORACLE_NODES; n < RUN_RANKS_MAX && !code; n++)
        if (order->kind == WORK_OPS && run->workers[n].known)
            code = gw_fail(why, GW_EINVAL,
                           "ops prove themselves for nodes 0 to %d",
                           ORACLE_NODES - 1);
    return code;
}

static void verb_train(const struct request *request)
{
    static struct work_order order; /* large */
    struct run *run = request->run;
    struct options_room room;
    struct work_options options;
    struct gw_error why;
    if (is_busy(request))
        return;
    enum gw_err code =
        work_options_decode(request->json, &room, &options, &why);
    if (!code)
        code = work_order_make(&options, run->work.id + 1, &order, &why);
    if (!code && order.kind == WORK_NONE)
        code = gw_fail(&why, GW_EINVAL, "train what? lr, softmax or ops");
    if (!code)
        code = try_work(run, &order, &why);
    if (code) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    run->work = order;
    children_order(run);
    const char *file = strrchr(order.file, '/');
    serve_answer(run, &request->asker, GW_OK, NULL,
                 "work was given: %s%s%.200s, epoch %llu",
                 order.kind == WORK_OPS ? "ops" : order.model,
                 file ? " on " : "", file ? file + 1 : "",
                 (unsigned long long)run->news.view.epoch);
}

/* ---- the end ---- */

static void verb_down(const struct request *request)
{
    request->run->downer = request->asker;
    request->run->over = request->run->ending = true;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    verb_function *run;
} verbs[] = {
    {"hello", verb_hello},   {"status", verb_status}, {"add", verb_add},
    {"kill", verb_kill},     {"stop", verb_stop},     {"pause", verb_pause},
    {"resume", verb_resume}, {"drain", verb_drain},   {"restart", verb_restart},
    {"slow", verb_slow},     {"link", verb_link},     {"cut", verb_cut},
    {"heal", verb_heal},     {"pace", verb_pace},     {"train", verb_train},
    {"wait", verb_wait},     {"expect", verb_expect}, {"record", verb_record},
    {"down", verb_down},
};

verb_function *verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return verbs[i].run;
    return NULL;
}
