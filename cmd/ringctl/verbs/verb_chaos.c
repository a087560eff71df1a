/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * chaos: random faults for a while, in a sequence that the seed reproduces.
 * chaos.h plans it; this file executes the actions and prints each. At the end
 * paused nodes are resumed, links, clocks and disks are restored, and the
 * controllers are restarted; dead members stay dead. With a schedule
 * (chaos_schedule.h), its final state remains. Then the command checks that the
 * work continues, and prints the result: chaos_sum.h.
 */
#include "ringctl/chaos/chaos.h"
#include "ringctl/chaos/chaos_schedule.h"
#include "ringctl/chaos/chaos_sum.h"

#include "common/output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "run/node/child_channel.h"
#include "run/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *rate_text, *faults_word;
static uint64_t for_ns;
#define RATE_DEFAULT   "0.2/s"
#define FOR_DEFAULT_NS UINT64_C(60000000000)
static int replicas; /* wanted per slot; 0: no servers */
#define REPLICAS_NS UINT64_C(10000000000)

static const struct option_spec options[] = {
    {"rate", 0, OPTION_TEXT, &rate_text, "N/s",
     "Faults per second, on average. Default: 0.2/s.", NULL},
    {"for", 0, OPTION_DURATION, &for_ns, "TIME", "Duration. Default: 1m.",
     NULL},
    {"faults", 0, OPTION_TEXT, &faults_word, "FILE",
     "Use this fault schedule, as for sim, instead of random faults.", NULL},
    {0},
};

static const struct field fields[] = {
    {"at_s", "at s", FIELD_REAL, 3, false},
    {"action", NULL, FIELD_TEXT, 0, false},
    {"node", NULL, FIELD_TEXT, 0, false},
    {"code", NULL, FIELD_TEXT, 0, true},
    {"text", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static enum gw_err parse_rate(double *rate, struct gw_error *why)
{
    char *end;
    if (!rate_text)
        rate_text = RATE_DEFAULT;
    *rate = strtod(rate_text, &end);
    if (end == rate_text || (*end && strcmp(end, "/s") != 0) || !(*rate > 0) ||
        *rate > 1000)
        return gw_fail(why, GW_EINVAL,
                       "--rate must be faults per second, such as 0.2/s, not "
                       "\"%.40s\"",
                       rate_text);
    return GW_OK;
}

/* ---- the members ---- */

/* In a run with servers, all that live; else the workers in the ring. Returns
 * how many. */
static unsigned mark_members(struct chaos *chaos, const json_t *status)
{
    size_t i;
    const json_t *node;
    unsigned count = 0;
    json_array_foreach(json_object_get(status, "ring"), i,
                       node) if (json_integer_value(node) < CHAOS_NODES)
    {
        chaos->nodes[json_integer_value(node)] = CHAOS_ALIVE;
        count++;
    }
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        bool server = strcmp(text_of(node, "role", ""), "server") == 0;
        bool worker = strcmp(text_of(node, "role", ""), "worker") == 0;
        json_int_t number = json_integer_value(json_object_get(node, "node"));
        if (!chaos->servers_from || (!server && !worker) ||
            strcmp(text_of(node, "state", ""), "alive") != 0)
            continue;
        number += server ? chaos->servers_from : 0;
        if (number < CHAOS_NODES) {
            chaos->nodes[number] = CHAOS_ALIVE;
            count++;
        }
    }
    return count;
}

/* As many servers as replicas must stay, and one worker. */
static enum gw_err find_members(struct chaos *chaos, struct gw_error *why)
{
    json_t *status;
    enum gw_err code = request_status(&status, why);
    if (code)
        return code;
    replicas =
        (int)json_integer_value(json_object_get(status, "replicas_wanted"));
    chaos->controllers =
        (unsigned)json_integer_value(json_object_get(status, "controllers"));
    if (json_integer_value(json_object_get(status, "servers")) > 0) {
        chaos->servers_from = SERVER_NODE;
        chaos->min_alive[0] = 1;
        chaos->min_alive[1] = (unsigned)replicas;
    }
    unsigned count = mark_members(chaos, status);
    json_decref(status);
    if (count < CHAOS_MIN_ALIVE)
        return gw_fail(why, GW_EINVAL,
                       "chaos needs at least %d members; the run has %u",
                       CHAOS_MIN_ALIVE, count);
    return GW_OK;
}

/* ---- the actions ---- */

static bool is_server(unsigned node)
{
    return replicas > 0 && node >= SERVER_NODE;
}

static json_t *named(unsigned node)
{
    bool server = is_server(node);
    return json_pack("{sssi}", "role", server ? "server" : "worker", "node",
                     (int)(server ? node - SERVER_NODE : node));
}

static json_t *side_of(unsigned node)
{
    return json_pack("[o]", named(node));
}

static json_t *about(const char *verb, json_t *name)
{
    json_object_set_new(name, "verb", json_string(verb));
    return name;
}

static json_t *about_controller(const char *verb, int number)
{
    return json_pack("{sssssi}", "verb", verb, "role", "controller", "node",
                     number);
}

/* For links, clocks, disks and controllers; RESTART of the latter is several.
 */
static json_t *request_around(const struct chaos_action *a)
{
    json_t *request;
    switch (a->kind) {
    case CHAOS_CUT:
        return json_pack("{sssoso}", "verb", "cut", "left", side_of(a->node),
                         "right", side_of(a->peer));
    case CHAOS_SLOW:
    case CHAOS_QUICK:
        request = about("slow", named(a->node));
        json_object_set_new(request, "ns",
                            json_integer((json_int_t)a->delay_us * 1000));
        return request;
    case CHAOS_DRIFT:
    case CHAOS_RIGHT:
        request = about("drift", named(a->node));
        json_object_set_new(request, "rate", json_real(a->rate));
        return request;
    case CHAOS_KILL_LEADER:
        return about_controller("kill", TARGET_LEADER);
    case CHAOS_FULL_DISK:
        request = about_controller("disk", (int)a->node);
        json_object_set_new(request, "full", json_true());
        return request;
    default:
        return json_pack("{ss}", "verb", "heal");
    }
}

static json_t *request_of(const struct chaos_action *a)
{
    switch (a->kind) {
    case CHAOS_ADD:
        return json_pack("{sssiss}", "verb", "add", "count", 1, "role",
                         is_server(a->node) ? "server" : "worker");
    case CHAOS_SLOW_LINK:
    case CHAOS_CLEAR_LINK:
        return json_pack("{sssososisisi}", "verb", "link", "from",
                         named(a->node), "to", named(a->peer), "delay_us",
                         (int)a->delay_us, "jitter_us", (int)a->delay_us / 4,
                         "loss_ppm", (int)a->loss_ppm);
    case CHAOS_KILL:
    case CHAOS_PAUSE:
    case CHAOS_RESUME:
    case CHAOS_RESTART:
        return about(chaos_word(a->kind), named(a->node));
    default:
        return request_around(a);
    }
}

/* "2", "0>1" for a link, "0|1" for a cut, "c1", "leader". */
static const char *action_target(const struct chaos_action *a, char out[32])
{
    bool link = a->kind == CHAOS_SLOW_LINK || a->kind == CHAOS_CLEAR_LINK;
    bool cut = a->kind == CHAOS_CUT || a->kind == CHAOS_HEAL;
    char node[16], peer[16];
    if (a->kind == CHAOS_KILL_LEADER || a->kind == CHAOS_CONTROLLER)
        return a->kind == CHAOS_CONTROLLER ? "" : "leader";
    snprintf(node, sizeof node, "%s%u", is_server(a->node) ? "s" : "",
             is_server(a->node) ? a->node - SERVER_NODE : a->node);
    snprintf(peer, sizeof peer, "%s%u", is_server(a->peer) ? "s" : "",
             is_server(a->peer) ? a->peer - SERVER_NODE : a->peer);
    if (a->kind == CHAOS_FULL_DISK)
        snprintf(out, 32, "c%u", a->node);
    else
        snprintf(out, 32, link ? "%s>%s" : cut ? "%s|%s" : "%s", node, peer);
    return out;
}

/* A server is only removed when all slots have their replicas, so that pushed
 * data survives. */
static void await_replicas(const struct chaos_action *a)
{
    char condition[32];
    struct gw_error why;
    json_t *answer;
    bool removes = a->kind == CHAOS_KILL || a->kind == CHAOS_PAUSE;
    bool cuts =
        a->kind == CHAOS_CUT && (is_server(a->node) || is_server(a->peer));
    if (!cuts && (!removes || !is_server(a->node)))
        return;
    snprintf(condition, sizeof condition, "replicas>=%d", replicas);
    json_t *wait = json_pack("{sssssI}", "verb", "wait", "condition", condition,
                             "timeout_ns", (json_int_t)REPLICAS_NS);
    if (send_request(wait, answer_timeout_ns(), &answer, &why))
        progress("chaos: %s", why.text);
    json_decref(answer);
}

/* Restarts the controllers that are down. One with a full disk that has not
 * failed yet is ended first. */
static enum gw_err bring_controllers(unsigned with_full_disk, json_t **answer,
                                     struct gw_error *why)
{
    json_t *status, *node;
    size_t i;
    enum gw_err code = request_status(&status, why);
    *answer = NULL;
    if (code)
        return code;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        int number = (int)json_integer_value(json_object_get(node, "node"));
        bool down = strcmp(text_of(node, "state", ""), "alive") != 0;
        if (strcmp(text_of(node, "role", ""), "controller") != 0 ||
            (!down && number != (int)with_full_disk))
            continue;
        json_decref(*answer);
        code = send_request(about_controller("restart", number),
                            answer_timeout_ns(), answer, why);
        if (code)
            break;
    }
    json_decref(status);
    return code;
}

static unsigned full_disk = UINT32_MAX; /* the controller with a full disk */

static enum gw_err strike(const struct chaos_action *a, json_t **answer,
                          struct gw_error *why)
{
    if (a->kind == CHAOS_FULL_DISK)
        full_disk = a->node;
    if (a->kind != CHAOS_CONTROLLER)
        return send_request(request_of(a), answer_timeout_ns(), answer, why);
    enum gw_err code = bring_controllers(full_disk, answer, why);
    full_disk = UINT32_MAX;
    return code;
}

/* A refusal is reported, but is not a failure: the run may differ from the
 * model. */
static enum gw_err report_action(struct output *output, double at_s,
                                 enum chaos_kind kind, const char *node,
                                 enum gw_err code, const char *text)
{
    chaos_sum_count(kind, code);
    const union value row[FIELDS] = {
        {.real = at_s}, {.text = kind < CHAOS_KINDS ? chaos_word(kind) : "dup"},
        {.text = node}, {.text = gw_err_name(code)},
        {.text = text},
    };
    output_row(output, row);
    return code == GW_EUNREACH || code == GW_EINTR ? code : GW_OK;
}

static enum gw_err act(struct output *output, const struct chaos_action *a,
                       uint64_t begin_ns, struct gw_error *why)
{
    char node[32];
    json_t *answer;
    await_replicas(a);
    double at_s = (double)(gw_now_ns() - begin_ns) / 1e9;
    enum gw_err code = strike(a, &answer, why);
    code = report_action(output, at_s, a->kind, action_target(a, node), code,
                         code ? why->text : text_of(answer, "text", ""));
    json_decref(answer);
    return code;
}

static enum gw_err undo(struct chaos *chaos, struct output *output,
                        uint64_t begin_ns, struct gw_error *why)
{
    struct chaos_action action;
    enum gw_err code = GW_OK;
    int was_interrupted = interrupted;
    interrupted = 0; /* else the wait for an answer would end at once */
    while (!code && chaos_undo(chaos, &action))
        code = act(output, &action, begin_ns, why);
    interrupted = was_interrupted;
    return code;
}

static enum gw_err rage(struct chaos *chaos, struct output *output,
                        struct gw_error *why)
{
    uint64_t begin_ns = gw_now_ns();
    struct chaos_action action;
    for (;;) {
        struct chaos before = *chaos;
        chaos_next(chaos, &action);
        progress("chaos: next is %s %u", chaos_word(action.kind), action.node);
        uint64_t at_ns = action.at_ns < for_ns ? action.at_ns : for_ns;
        if (!chaos_sleep(begin_ns + at_ns) || at_ns == for_ns) {
            *chaos = before; /* undo the action that was not executed */
            break;
        }
        enum gw_err code = act(output, &action, begin_ns, why);
        if (code)
            return code;
    }
    return undo(chaos, output, begin_ns, why);
}

/* ---- a schedule ---- */

struct schedule_run {
    struct output *output;
    uint64_t begin_ns;
};

static enum gw_err blow(void *context, enum chaos_kind kind, const char *node,
                        json_t *request, struct gw_error *why)
{
    const struct schedule_run *run = context;
    json_t *answer = NULL;
    double at_s = (double)(gw_now_ns() - run->begin_ns) / 1e9;
    enum gw_err code =
        request ? send_request(request, answer_timeout_ns(), &answer, why)
                : gw_fail(why, GW_ENOTSUP,
                          "chaos: dup is not supported, because the transport "
                          "of a run never delivers a message twice");
    code = report_action(run->output, at_s, kind, node, code,
                         code ? why->text : text_of(answer, "text", ""));
    json_decref(answer);
    return code;
}

static enum gw_err apply_schedule(struct output *output, struct gw_error *why)
{
    struct schedule_run run = {output, gw_now_ns()};
    return chaos_schedule_run(faults_word, blow, &run, why);
}

static enum gw_err apply_random(struct output *output, struct gw_error *why)
{
    struct chaos chaos;
    double rate;
    if (parse_rate(&rate, why))
        return why->code;
    chaos_begin(&chaos, common.seed, rate);
    if (find_members(&chaos, why))
        return why->code;
    output_note_integer(output, "seed", (int64_t)common.seed);
    return rage(&chaos, output, why);
}

static int run_chaos(int operand_count, char **operands)
{
    struct gw_error why = {.code = GW_OK};
    struct output *output;
    (void)operand_count;
    (void)operands;
    if (faults_word && (rate_text || for_ns))
        return complain_with(GW_EINVAL,
                             "chaos: --rate and --for cannot be used with "
                             "--faults, because a schedule has its own times");
    if (!for_ns)
        for_ns = FOR_DEFAULT_NS;
    if (output_begin("ringctl chaos", common.output, fields, FIELDS, &output,
                     &why))
        return complain(&why);
    enum gw_err code =
        faults_word ? apply_schedule(output, &why) : apply_random(output, &why);
    if (!code && !interrupted)
        code = chaos_sum_report(output, &why);
    output_end(&output, code ? &why : NULL, interrupted != 0);
    if (code)
        return complain(&why);
    return interrupted ? gw_err_exit(GW_EINTR) : 0;
}

const struct command command_chaos = {
    .name = "chaos",
    .help = "inject random faults, in a sequence that --seed repeats, or "
            "those of a schedule",
    .examples = "ringctl chaos --seed 7 --rate 0.2/s --for 10m\n"
                "ringctl chaos --faults 'at 1s crash 2 for 500ms'\n",
    .options = options,
    .run = run_chaos,
};
