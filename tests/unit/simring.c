/* SPDX-License-Identifier: MIT
 *
 * A ring all-reduce whose members die; see simring.h.
 */
#include "simring.h"

#include <string.h>

static void apply_input(struct simring *w, unsigned i, unsigned chunk)
{
    /* Values whose sum depends on the summation order in its last bits. */
    uint64_t seed = w->nodes[i] * 31 + chunk;
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    w->members[i].digits[chunk] = (uint64_t)1 << 2 * i;
    w->members[i].value[chunk] = gw_rng_unit(&rng) - 0.3;
}

uint64_t simring_node_bit(const struct simring *w, unsigned i)
{
    return (uint64_t)1 << w->nodes[i];
}

static uint64_t all_members(const struct simring *w)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < w->count; i++)
        all |= simring_node_bit(w, i);
    return all;
}

void simring_begin(struct simring *w, unsigned count)
{
    memset(w, 0, sizeof *w);
    w->count = count;
    for (unsigned i = 0; i < count; i++)
        w->nodes[i] = (i * 23 + 40) % 64;
    for (unsigned i = 0; i < count; i++) {
        w->members[i].alive = w->members[i].begun = true;
        gw__contributor_sets_begin(&w->members[i].sets, 0, w->nodes[i], count,
                                   &(struct gw_nodes){{all_members(w)}});
        for (unsigned c = 0; c < count; c++)
            apply_input(w, i, c);
    }
}

static void move(struct simring *w, unsigned from, unsigned to, unsigned chunk,
                 bool adds)
{
    const struct simring_member *src = &w->members[from];
    struct simring_member *dst = &w->members[to];
    struct gw_error why = {0};
    enum gw_err err =
        adds ? gw__contributor_sets_add(&dst->sets, chunk,
                                        &src->sets.sets[chunk], &why)
             : gw__contributor_sets_replace(&dst->sets, chunk,
                                            &src->sets.sets[chunk], &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    dst->digits[chunk] = (adds ? dst->digits[chunk] : 0) + src->digits[chunk];
    dst->value[chunk] =
        adds ? dst->value[chunk] + src->value[chunk] : src->value[chunk];
}

void simring_hop(const struct simring *w, unsigned chunk, unsigned hop,
                 unsigned *from, unsigned *to)
{
    unsigned p = w->count;
    *from = hop < p - 1 ? (chunk + 1 + hop) % p : (chunk + hop - (p - 1)) % p;
    *to = (*from + 1) % p;
}

bool simring_hop_once(struct simring *w, unsigned chunk, unsigned hop)
{
    unsigned from, to;
    simring_hop(w, chunk, hop, &from, &to);
    if (!w->members[from].begun || !w->members[to].begun)
        return false;
    move(w, from, to, chunk, hop < w->count - 1);
    return true;
}

/* ---- losing members ---- */

static void decide(struct simring *w)
{
    static struct gw__report reports[SIMRING_MOST];
    const struct gw__places places = {w->count, w->nodes};
    struct gw__survivor survivors[SIMRING_MOST];
    for (unsigned rank = 0; rank < w->survivor_count; rank++) {
        struct simring_member *m = &w->members[w->survivors[rank]];
        gw__contributor_sets_freeze(&m->sets);
        reports[rank] = (struct gw__report){.op_count = m->begun};
        gw__contributor_sets_report(&m->sets, &places, &reports[rank].ops[0]);
        survivors[rank] = (struct gw__survivor){
            .node = w->nodes[w->survivors[rank]], .report = &reports[rank]};
    }
    w->decision = (struct gw__decision){
        .epoch = 2, .contributors = w->earlier, .initial_count = w->count};
    for (unsigned i = 0; i < w->count; i++)
        w->decision.initial_members[i] = (uint16_t)w->nodes[i];
    gw__decide(survivors, w->survivor_count, &w->decision);
}

static void plan(struct simring *w)
{
    static struct gw__holdings holdings[SIMRING_MOST];
    const struct gw__holdings *held[SIMRING_MOST] = {0};
    const struct gw__places places = {w->count, w->nodes};
    unsigned nodes[SIMRING_MOST];
    struct gw_error why = {0};
    struct gw_verdict verdict;
    for (unsigned rank = 0; rank < w->survivor_count; rank++) {
        const struct simring_member *m = &w->members[w->survivors[rank]];
        nodes[rank] = w->nodes[w->survivors[rank]];
        gw__contributor_sets_report(&m->sets, &places, &holdings[rank]);
        if (m->begun)
            held[rank] = &holdings[rank];
    }
    const struct gw__recovery_case c = {.ranks = w->survivor_count,
                                        .nodes = nodes,
                                        .held = held,
                                        .chunks = w->count,
                                        .target = w->decision.contributors,
                                        .initial_count = w->count,
                                        .initial_members = w->nodes};
    gw__recovery_fini(&w->recovery);
    enum gw_err err = gw__recovery_make(&c, &w->recovery, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    err = gw__recovery_verify(&w->recovery, 1, &verdict, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, verdict.history);
}

/* A survivor takes its input again, or keeps the partial sum in the plan, which
 * it must have. */
static void obey(struct simring *w, unsigned rank)
{
    struct simring_member *m = &w->members[w->survivors[rank]];
    const struct gw_nodes *start = w->recovery.sets + (size_t)rank * w->count;
    m->begun = true;
    for (unsigned c = 0; c < w->count; c++) {
        if (node_bits(start[c]) == simring_node_bit(w, w->survivors[rank]))
            apply_input(w, w->survivors[rank], c);
        else
            ck_assert(gw__nodes_equal(m->sets.sets[c], start[c]));
    }
    gw__contributor_sets_retarget(&m->sets, &w->decision.contributors, start);
}

void simring_lose_asleep(struct simring *w, unsigned members, unsigned asleep)
{
    uint64_t used = 0;
    w->survivor_count = 0;
    for (unsigned i = 0; i < w->count; i++) {
        if (members >> i & 1)
            w->members[i].alive = false;
        if (!w->members[i].alive)
            continue;
        w->survivors[w->survivor_count++] = i;
        if (gw__contributor_sets_complete(&w->members[i].sets))
            used = node_bits(w->members[i].sets.target);
    }
    decide(w);
    /* A member may have used its result, so the result must not change. */
    ck_assert(!used || (w->decision.fate == GW__FORWARD &&
                        node_bits(w->decision.contributors) == used));
    w->earlier = w->decision.contributors;
    plan(w);
    for (unsigned rank = 0; rank < w->survivor_count; rank++) {
        struct simring_member *m = &w->members[w->survivors[rank]];
        m->asleep = asleep >> w->survivors[rank] & 1;
        if (!m->asleep)
            obey(w, rank);
    }
}

void simring_lose(struct simring *w, unsigned members)
{
    simring_lose_asleep(w, members, 0);
}

/* ---- continuing ---- */

bool simring_do_transfer(struct simring *w, const struct gw_transfer *x)
{
    unsigned from = w->survivors[x->src], to = w->survivors[x->dst];
    if (w->members[from].asleep || w->members[to].asleep)
        return false;
    move(w, from, to, x->chunk, x->action == GW_ADD);
    return true;
}

/* A chunk has no two hops in consecutive steps, so their order does not
 * matter. */
void simring_do_step(struct simring *w, unsigned step)
{
    const struct gw_plan *p = w->recovery.plan;
    for (size_t t = p->step_begin[step]; t < p->step_begin[step + 1]; t++)
        ck_assert(simring_do_transfer(w, &p->transfers[t]));
}

void simring_finish(struct simring *w, unsigned from_step)
{
    while (from_step < w->recovery.plan->steps)
        simring_do_step(w, from_step++);
}

/* The result of a clean run of `contributors`: value[chunk]. */
static void run_clean(const struct simring *w, uint64_t contributors,
                      double value[SIMRING_MOST])
{
    static struct simring clean;
    simring_begin(&clean, w->count);
    for (unsigned i = 0; i < w->count; i++)
        if (contributors & simring_node_bit(w, i))
            clean.survivors[clean.survivor_count++] = i;
    clean.decision.contributors = node_set(contributors);
    for (unsigned i = 0; i < clean.survivor_count; i++)
        clean.members[clean.survivors[i]].begun = false;
    plan(&clean);
    for (unsigned i = 0; i < clean.survivor_count; i++)
        obey(&clean, i);
    simring_finish(&clean, 0);
    memcpy(value, clean.members[clean.survivors[0]].value,
           w->count * sizeof *value);
    simring_end(&clean);
}

void simring_check(struct simring *w, const char *what)
{
    uint64_t digits = 0;
    double value[SIMRING_MOST];
    for (unsigned i = 0; i < w->count; i++)
        if (node_bits(w->decision.contributors) & simring_node_bit(w, i))
            digits += (uint64_t)1 << 2 * i;
    run_clean(w, node_bits(w->decision.contributors), value);
    for (unsigned rank = 0; rank < w->survivor_count; rank++) {
        struct simring_member *m = &w->members[w->survivors[rank]];
        ck_assert_msg(gw__contributor_sets_complete(&m->sets), "%s: rank %u",
                      what, rank);
        for (unsigned c = 0; c < w->count; c++)
            ck_assert_msg(m->digits[c] == digits, "%s: rank %u c%u %llx", what,
                          rank, c, (unsigned long long)m->digits[c]);
        ck_assert_msg(memcmp(m->value, value, w->count * sizeof *value) == 0,
                      "%s: rank %u has other bits than a clean run", what,
                      rank);
    }
}

void simring_end(struct simring *w)
{
    gw__recovery_fini(&w->recovery);
}
