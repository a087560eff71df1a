/* SPDX-License-Identifier: MIT
 *
 * A plan plug-in: all-reduce in two levels, for any number of ranks. Ranks are
 * in groups of g, for example racks. In each group a binomial tree adds all
 * inputs at the group's first rank, its leader. The leaders run a ring, and the
 * tree distributes the result. With l = ceil(p/g) leaders and n bytes:
 *
 *     2 ceil(log2 g) + 2(l-1) rounds
 *     2 (p-l) n bytes inside groups, 2 (l-1) n between them
 *
 * so a slow link between groups carries the fewest bytes, and a group needs few
 * rounds. To try it:
 *
 *     cc -shared -fPIC -I lib/include -o two_level.so labs/plugins/two_level.c
 *     collrun verify allreduce --algo ./two_level.so --all
 *     collrun sim allreduce --algo ./two_level.so \
 *         --topo labs/topologies/racks.topo -b 16M
 *
 * gradwire-plugin(7) describes plug-ins, gradwire-plan(3) plans.
 */
#include <gradwire/gradwire.h>

struct shape {
    unsigned ranks, group, leaders;
};

/* --group, or the smallest square that holds all ranks. */
static struct shape shape_of(const struct gw_algo_args *args)
{
    unsigned group = args->group;
    while (group == 0 || (!args->group && group * group < args->ranks))
        group++;
    return (struct shape){args->ranks, group,
                          (args->ranks + group - 1) / group};
}

/* The leaders' ring cuts the buffer into one part per leader. */
static unsigned chunks(const struct gw_algo_args *args)
{
    return shape_of(args).leaders;
}

static void send_all(struct gw_builder *b, const struct shape *s, unsigned src,
                     unsigned dst, enum gw_action action)
{
    for (unsigned chunk = 0; chunk < s->leaders; chunk++)
        gw_builder_add(b, src, dst, chunk, action);
}

/* One round of the trees: a rank at distance `far` sends to its parent, or
 * receives from it. */
static void tree_round(struct gw_builder *b, const struct shape *s,
                       unsigned far, enum gw_action action)
{
    gw_builder_step(b);
    for (unsigned rank = 0; rank < s->ranks; rank++) {
        unsigned place = rank % s->group;
        if (place % (2 * far) != far)
            continue;
        if (action == GW_ADD)
            send_all(b, s, rank, rank - far, action);
        else
            send_all(b, s, rank - far, rank, action);
    }
}

/* Leader i passes part i - lag on to the next. */
static void ring_round(struct gw_builder *b, const struct shape *s,
                       unsigned lag, enum gw_action action)
{
    unsigned l = s->leaders;
    gw_builder_step(b);
    for (unsigned i = 0; i < l; i++)
        gw_builder_add(b, i * s->group, (i + 1) % l * s->group,
                       (i + 2 * l - lag) % l, action);
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct shape s = shape_of(args);
    unsigned far = 1;
    for (; far < s.group && far < s.ranks; far *= 2)
        tree_round(b, &s, far, GW_ADD);
    for (unsigned round = 0; round + 1 < s.leaders; round++)
        ring_round(b, &s, round, GW_ADD);
    for (unsigned round = 0; round + 1 < s.leaders; round++)
        ring_round(b, &s, round + s.leaders - 1, GW_REPLACE);
    for (far /= 2; far > 0; far /= 2)
        tree_round(b, &s, far, GW_REPLACE);
}

static bool valid(unsigned ranks)
{
    return ranks > 0;
}

static const struct gw_algo two_level = {
    .name = "two_level",
    .collective = GW_ALLREDUCE,
    .summary = "trees in groups of g, a ring of their leaders",
    .formula = "2(ceil(log2 g) + ceil(p/g) - 1) rounds",
    .source = "labs/plugins/two_level.c",
    .valid = valid,
    .emit = emit,
    .chunks = chunks,
};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLAN,
    .name = "two_level",
    .summary = "all-reduce by trees in racks and a ring between them",
    .plan = &two_level,
};
