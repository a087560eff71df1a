/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verbs about links. A profile is kept here and applied by the process at
 * the link's receiving end (between controllers also at the sending end, since
 * their log has its own sockets).
 */
#include "supervisor_verbs.h"

#include "run/link_words.h"

#include <string.h>

static void answer_request(const struct request *request, json_t *data,
                           const char *what)
{
    serve_answer(request->run, &request->requester, GW_OK, data,
                 "%s: epoch %llu", what,
                 (unsigned long long)request->run->update.view.epoch);
}

/* ---- link ---- */

void verb_link(const struct request *request)
{
    struct run *run = request->run;
    struct gw_error why;
    char text[SENTENCE_MAX], profile[160], a[32], b[32];
    bool both = json_is_true(json_object_get(request->json, "both"));
    const struct child *from =
        child_named(run, json_object_get(request->json, "from"), &why);
    const struct child *to =
        from ? child_named(run, json_object_get(request->json, "to"), &why)
             : NULL;
    if (run->links.passed_by) {
        refuse(request, GW_ENOTSUP, "%s", links_passed_by);
        return;
    }
    if (!to) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    if (from == to) {
        refuse(request, GW_EINVAL, "%s has no link to itself",
               child_name(from, a));
        return;
    }
    struct gw_link_profile *there = &run->links.profiles[from->node][to->node];
    if (link_change(there, request->json, &why)) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    if (both)
        run->links.profiles[to->node][from->node] = *there;
    children_send_desired(run);
    json_t *data = link_json(there);
    link_words_print(data, profile, sizeof profile);
    snprintf(text, sizeof text, "link %s%s%s set: %s", child_short(from, a),
             both ? "<>" : ">", child_short(to, b), profile);
    answer_request(request, data, text);
}

/* ---- cut and heal ---- */

static enum gw_err read_side(struct run *run, const json_t *list,
                             struct gw_nodes *side, struct gw_error *why)
{
    size_t i;
    json_t *name;
    if (json_array_size(list) == 0)
        return gw_fail(why, GW_EINVAL, "cut needs two sides: left and right");
    json_array_foreach(list, i, name)
    {
        const struct child *child = child_named(run, name, why);
        if (!child)
            return why->code;
        gw__nodes_add(side, child->node);
    }
    return GW_OK;
}

static unsigned members_of(const struct gw_nodes *nodes)
{
    return gw__nodes_count(
        gw__nodes_and(*nodes, gw__nodes_first(OBSERVER_NODE)));
}

/* Controllers on neither side go to the side with more nodes, or to the right
 * one if both are equal. */
static void place_controllers(const struct run *run, struct gw_nodes *left,
                              struct gw_nodes *right)
{
    unsigned count = controllers_all(run);
    struct gw_nodes *larger =
        members_of(left) > members_of(right) ? left : right;
    for (unsigned c = 0; c < count; c++)
        if (!gw__nodes_has(left, CONTROLLER_NODE - c) &&
            !gw__nodes_has(right, CONTROLLER_NODE - c))
            gw__nodes_add(larger, CONTROLLER_NODE - c);
}

static void describe_side(struct run *run, const struct gw_nodes *side,
                          char *out, size_t room)
{
    size_t used = 0;
    *out = 0;
    for (unsigned n = 0; n < GW_RING_NODES && used < room; n++) {
        const char *gap = used ? " " : "";
        char name[32];
        const struct child *child = child_of_node(run, n);
        if (!gw__nodes_has(side, n))
            continue;
        if (n > OBSERVER_NODE)
            snprintf(name, sizeof name, "c%u", CONTROLLER_NODE - n);
        else if (child)
            child_short(child, name);
        used += (size_t)snprintf(out + used, room - used, "%s%s", gap, name);
    }
}

static void mark_trouble(struct run *run, const struct gw_nodes *nodes)
{
    for (unsigned n = 0; n < OBSERVER_NODE; n++) {
        struct child *child = child_of_node(run, n);
        if (gw__nodes_has(nodes, n) && child)
            child->trouble_ns = gw_now_ns();
    }
}

void verb_cut(const struct request *request)
{
    struct run *run = request->run;
    struct gw_error why;
    struct gw_nodes left = {{0}}, right = {{0}};
    char text[SENTENCE_MAX], a[160], b[160];
    if (run->links.passed_by) {
        refuse(request, GW_ENOTSUP, "%s", links_passed_by);
        return;
    }
    if (read_side(run, json_object_get(request->json, "left"), &left, &why) ||
        read_side(run, json_object_get(request->json, "right"), &right, &why)) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    if (!gw__nodes_is_empty(gw__nodes_and(left, right))) {
        refuse(request, GW_EINVAL, "cut: a node cannot be on both sides");
        return;
    }
    place_controllers(run, &left, &right);
    links_cut(&run->links, &left, &right);
    mark_trouble(run, &left);
    mark_trouble(run, &right);
    children_send_desired(run);
    describe_side(run, &left, a, sizeof a);
    describe_side(run, &right, b, sizeof b);
    snprintf(text, sizeof text, "%s cut off from %s", a, b);
    answer_request(request, NULL, text);
}

void verb_heal(const struct request *request)
{
    char text[SENTENCE_MAX];
    unsigned healed = links_heal(&request->run->links);
    children_send_desired(request->run);
    if (healed)
        snprintf(text, sizeof text, "%u link%s healed", healed,
                 healed == 1 ? " was" : "s were");
    else
        snprintf(text, sizeof text, "no cut to heal");
    answer_request(request, NULL, text);
}

/* ---- slow motion ---- */

void verb_pace(const struct request *request)
{
    char text[SENTENCE_MAX];
    if (!request_ns(request, &request->run->pace_ns))
        return;
    children_send_desired(request->run);
    if (request->run->pace_ns)
        snprintf(text, sizeof text, "the pace is %g ms per chunk",
                 (double)request->run->pace_ns / 1e6);
    else
        snprintf(text, sizeof text, "slow motion ended");
    answer_request(request, NULL, text);
}
