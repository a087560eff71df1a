/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * chaos: faults at random for a while, in a sequence that the seed gives again.
 * chaos.h says what and when; here it is done, and each act told when it is. In
 * the end what is paused goes on and links are as they were; what is dead stays
 * dead.
 */
#include "chaos.h"

#include "ask.h"
#include "common/output.h"
#include "ringctl.h"
#include "run/post.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *rate_text = "0.2/s";
static uint64_t for_ns = 60000000000;
static int replicas; /* wanted of each slot; 0: there are no servers */
#define REPLICAS_NS UINT64_C(10000000000)

static const struct option_spec options[] = {
    {"rate", 0, OPTION_TEXT, &rate_text, "N/s", "faults a second, on average",
     NULL},
    {"for", 0, OPTION_DURATION, &for_ns, "TIME", "how long", NULL},
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
    *rate = strtod(rate_text, &end);
    if (end == rate_text || (*end && strcmp(end, "/s") != 0) || !(*rate > 0) ||
        *rate > 1000)
        return gw_fail(why, GW_EINVAL,
                       "--rate wants faults a second, such as 0.2/s, not "
                       "\"%.40s\"",
                       rate_text);
    return GW_OK;
}

/* ---- who is there ---- */

/* Of a run with servers, all that live; else the workers in the ring. Returns
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

/* Servers that stay are as many as there are replicas, one worker is enough. */
static enum gw_err find_members(struct chaos *chaos, struct gw_error *why)
{
    json_t *status;
    enum gw_err code = ask_data("status", &status, why);
    if (code)
        return code;
    replicas =
        (int)json_integer_value(json_object_get(status, "replicas_wanted"));
    if (json_integer_value(json_object_get(status, "servers")) > 0) {
        chaos->servers_from = SERVER_NODE;
        chaos->floor[0] = 1;
        chaos->floor[1] = (unsigned)replicas;
    }
    unsigned count = mark_members(chaos, status);
    json_decref(status);
    if (count < CHAOS_FLOOR)
        return gw_fail(why, GW_EINVAL,
                       "chaos wants %d members at least; there are %u",
                       CHAOS_FLOOR, count);
    return GW_OK;
}

/* ---- what is done ---- */

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

static json_t *request_of(const struct chaos_action *a)
{
    json_t *name;
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
    default:
        name = named(a->node);
        json_object_set_new(name, "verb", json_string(chaos_word(a->kind)));
        return name;
    }
}

/* "2", or "0>1" of a link. */
static const char *node_of(const struct chaos_action *a, char out[32])
{
    bool link = a->kind == CHAOS_SLOW_LINK || a->kind == CHAOS_CLEAR_LINK;
    char node[16], peer[16];
    snprintf(node, sizeof node, "%s%u", is_server(a->node) ? "s" : "",
             is_server(a->node) ? a->node - SERVER_NODE : a->node);
    snprintf(peer, sizeof peer, "%s%u", is_server(a->peer) ? "s" : "",
             is_server(a->peer) ? a->peer - SERVER_NODE : a->peer);
    snprintf(out, 32, link ? "%s>%s" : "%s", node, peer);
    return out;
}

/* Before a server goes all slots have their replicas again: what was pushed is
 * to survive the chaos. */
static void await_replicas(const struct chaos_action *a)
{
    char condition[32];
    struct gw_error why;
    json_t *answer;
    bool removes = a->kind == CHAOS_KILL || a->kind == CHAOS_PAUSE;
    if (!removes || !is_server(a->node))
        return;
    snprintf(condition, sizeof condition, "replicas>=%d", replicas);
    json_t *wait = json_pack("{sssssI}", "verb", "wait", "condition", condition,
                             "timeout_ns", (json_int_t)REPLICAS_NS);
    if (ask(wait, ask_timeout_ns(), &answer, &why))
        progress("chaos: %s", why.text);
    json_decref(answer);
}

/* Does it, and tells it. A refusal is told and is no failure: the ring may be
 * otherwise than the picture. */
static enum gw_err act(struct output *output, const struct chaos_action *a,
                       uint64_t begin_ns, struct gw_error *why)
{
    char node[32];
    json_t *answer;
    await_replicas(a);
    double at_s = (double)(gw_now_ns() - begin_ns) / 1e9;
    enum gw_err code = ask(request_of(a), ask_timeout_ns(), &answer, why);
    const union value row[FIELDS] = {
        {.real = at_s},
        {.text = chaos_word(a->kind)},
        {.text = node_of(a, node)},
        {.text = gw_err_name(code)},
        {.text = code ? why->text : text_of(answer, "text", "")},
    };
    output_row(output, row);
    json_decref(answer);
    return code == GW_EUNREACH || code == GW_EINTR ? code : GW_OK;
}

/* false: interrupted, or the time is over first. */
static bool sleep_until(uint64_t until_ns, uint64_t end_ns)
{
    uint64_t stop_ns = until_ns < end_ns ? until_ns : end_ns;
    for (uint64_t now; !interrupted && (now = gw_now_ns()) < stop_ns;) {
        uint64_t ms = (stop_ns - now) / 1000000 + 1;
        poll(NULL, 0, ms < 1000 ? (int)ms : 1000);
    }
    return !interrupted && until_ns < end_ns;
}

static enum gw_err undo(struct chaos *chaos, struct output *output,
                        uint64_t begin_ns, struct gw_error *why)
{
    struct chaos_action action;
    enum gw_err code = GW_OK;
    int was_interrupted = interrupted;
    interrupted = 0; /* else nothing would wait for an answer */
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
        if (!sleep_until(begin_ns + action.at_ns, begin_ns + for_ns)) {
            *chaos = before; /* this one was not done */
            break;
        }
        enum gw_err code = act(output, &action, begin_ns, why);
        if (code)
            return code;
    }
    return undo(chaos, output, begin_ns, why);
}

static int run(int operand_count, char **operands)
{
    struct chaos chaos;
    struct gw_error why;
    struct output *output;
    double rate;
    (void)operand_count;
    (void)operands;
    if (parse_rate(&rate, &why))
        return complain(&why);
    chaos_begin(&chaos, common.seed, rate);
    if (find_members(&chaos, &why) ||
        output_begin("ringctl chaos", common.output, fields, FIELDS, &output,
                     &why))
        return complain(&why);
    output_note_integer(output, "seed", (int64_t)common.seed);
    enum gw_err code = rage(&chaos, output, &why);
    output_end(&output, code ? &why : NULL, interrupted != 0);
    if (code)
        return complain(&why);
    return interrupted ? gw_err_exit(GW_EINTR) : 0;
}

const struct command command_chaos = {
    .name = "chaos",
    .help = "faults at random, in a sequence that --seed gives again",
    .examples = "ringctl chaos --seed 7 --rate 0.2/s --for 60s\n",
    .options = options,
    .run = run,
};
