/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `ringctl sim scale`: what a change of the members costs in rings of 8, 16,
 * ... members, in a rack's network and in a slow one. One row per change.
 */
#include "sim.h"

#include "common/command.h"
#include "ringctl/ringctl.h"
#include "simcluster/common/seeds.h"
#include "simcluster/ring/change.h"

#include <math.h>

enum { LEAST = 8, DEFAULT_MOST = 128, DELAYS = 2 };

static const uint64_t delays_ns[DELAYS] = {1000000, 50000000};

static const struct field fields[] = {
    {"change", NULL, FIELD_TEXT, 0, false},
    {"delay_ms", NULL, FIELD_INTEGER, 0, false},
    {"members", NULL, FIELD_INTEGER, 0, false},
    {"detect_ms", NULL, FIELD_REAL, 0, false},
    {"decide_ms", NULL, FIELD_REAL, 0, false},
    {"resume_ms", NULL, FIELD_REAL, 0, false},
    {"views", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_REAL, 1, false},
    {"bytes", NULL, FIELD_REAL, 0, false},
    {"bytes_most", NULL, FIELD_INTEGER, 0, false},
    {"controller_messages", "ctl_messages", FIELD_INTEGER, 0, false},
    {"controller_bytes", "ctl_bytes", FIELD_INTEGER, 0, false},
    {"log_bytes", NULL, FIELD_INTEGER, 0, false},
    {"beats_per_s", "beats/s", FIELD_REAL, 0, false},
    {"controller_beats_per_s", "ctl_beats/s", FIELD_REAL, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static double ms(uint64_t ns)
{
    return ns ? (double)ns / 1e6 : (double)NAN;
}

static void print_change(struct output *output, const struct change_case *c,
                         const struct change_cost *cost)
{
    const union value values[FIELDS] = {
        {.text = change_names[c->kind]},
        {.integer = (int64_t)(c->delay_ns / 1000000)},
        {.integer = c->members},
        {.real = ms(cost->detected_ns)},
        {.real = ms(cost->decided_ns)},
        {.real = ms(cost->resumed_ns)},
        {.integer = cost->views},
        {.real = (double)cost->members.messages / c->members},
        {.real = (double)cost->members.bytes / c->members},
        {.integer = (int64_t)cost->busiest_member.bytes},
        {.integer = (int64_t)cost->controller.messages},
        {.integer = (int64_t)cost->controller.bytes},
        {.integer = (int64_t)cost->log_bytes},
        {.real = cost->member_beats},
        {.real = cost->controller_beats},
    };
    output_row(output, values);
}

static enum gw_err compare_sizes(struct output *output, struct change_case *c,
                                 unsigned most, struct gw_error *why)
{
    struct change_cost cost;
    for (unsigned n = LEAST; n <= most;
         n = n < most && 2 * n > most ? most : 2 * n) {
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        progress("scale: %s, %u members", change_names[c->kind], n);
        c->members = n;
        if (change_measure(c, &cost, why))
            return why->code;
        print_change(output, c, &cost);
    }
    return GW_OK;
}

static enum gw_err compare(struct output *output, unsigned most,
                           struct gw_error *why)
{
    for (unsigned kind = 0; kind < CHANGE_KINDS; kind++)
        for (unsigned i = 0; i < DELAYS; i++) {
            struct change_case c = {.kind = (enum change_kind)kind,
                                    .delay_ns = delays_ns[i],
                                    .seed = common.seed};
            if (compare_sizes(output, &c, most, why))
                return why->code;
        }
    progress("%s", "");
    return GW_OK;
}

static enum gw_err print_all(unsigned most, struct gw_error *why)
{
    struct output *output;
    if (output_begin("ringctl sim scale", common.output, fields, FIELDS,
                     &output, why))
        return why->code;
    output_reserve(output, "change", change_names[CHANGE_JOIN_MANY]);
    output_spare(output, "controller_beats_per_s beats_per_s log_bytes "
                         "controller_messages messages bytes_most "
                         "controller_bytes bytes views detect_ms decide_ms");
    enum gw_err err = compare(output, most, why);
    output_end(&output, err ? why : NULL, interrupted != 0);
    return err;
}

int sim_scale(unsigned members, bool plain)
{
    struct gw_error why = {0};
    unsigned most = members ? members : DEFAULT_MOST;
    if (most < LEAST || most > GW_RING_MEMBERS_MAX)
        return complain_with(
            GW_EINVAL,
            "sim scale compares rings of %d to %d members; --nodes is the "
            "largest, not %u",
            LEAST, GW_RING_MEMBERS_MAX, most);
    if (!plain)
        return complain_with(GW_EINVAL,
                             "sim scale has only the option --nodes");
    seeds_keep_memory();
    return print_all(most, &why) ? complain(&why) : 0;
}
