/* SPDX-License-Identifier: MIT
 *
 * Data shards: each is used once an epoch of the data, whoever dies. The
 * commands and the reasons are in registry.h.
 */
#include "registry_parts.h"

#include <string.h>

static struct gw__holder *find(struct gw__registry *r, struct gw__process who)
{
    for (unsigned i = 0; i < GW__HOLDERS_MAX; i++) {
        struct gw__holder *h = &r->holders[i];
        if (h->held > 0 && h->who.node == who.node &&
            gw__id_equal(h->who.incarnation, who.incarnation))
            return h;
    }
    return NULL;
}

/* That of `who`, or a free entry made its own, or NULL. */
static struct gw__holder *find_or_make(struct gw__registry *r,
                                       struct gw__process who)
{
    struct gw__holder *found = find(r, who);
    for (unsigned i = 0; !found && i < GW__HOLDERS_MAX; i++)
        if (r->holders[i].held == 0) {
            found = &r->holders[i];
            *found = (struct gw__holder){.who = who};
        }
    return found;
}

enum gw_err gw__apply_shards(struct gw__registry *r,
                             const struct gw__command *c,
                             struct gw__answer *answer)
{
    if (c->shards == 0 || c->shards > GW__SHARDS_MAX)
        return gw__refuse(answer, GW_EINVAL,
                          "the data has 1 to %d shards, not %u", GW__SHARDS_MAX,
                          c->shards);
    if (r->shards_free + r->shards_done != r->shard_count)
        return gw__refuse(answer, GW_EINVAL, "shards are leased: %u",
                          r->shard_count - r->shards_free - r->shards_done);
    memset(r->shards, 0, sizeof r->shards);
    r->data_epoch = 0;
    r->shard_count = r->shards_free = c->shards;
    r->shards_done = 0;
    return gw__say(answer, "shards: %u, epoch 0 of the data", c->shards);
}

/* ---- leasing ---- */

static uint32_t share_of_each(const struct gw__registry *r)
{
    uint32_t workers = 0, undone = r->shard_count - r->shards_done;
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        workers += r->members[i].state == GW__ACTIVE &&
                   r->members[i].role == GW__WORKER;
    return workers ? (undone + workers - 1) / workers : 0;
}

static void lease(struct gw__registry *r, struct gw__holder *holder,
                  const struct gw__command *c, struct gw__answer *answer)
{
    uint32_t share = share_of_each(r), shard = 0;
    uint64_t step = c->lease.step;
    while (r->shards_free > 0 && holder->held < share &&
           answer->shard_count < c->lease.count) {
        while (r->shards[shard].state != GW__FREE)
            shard++;
        r->shards[shard] =
            (struct gw__shard){.state = GW__LEASED,
                               .holder = (uint8_t)(holder - r->holders),
                               .step = step};
        step++;
        r->shards_free--;
        holder->held++;
        answer->shards[answer->shard_count++] = shard;
    }
    holder->next_step = step;
}

enum gw_err gw__apply_lease(struct gw__registry *r, const struct gw__command *c,
                            struct gw__answer *answer)
{
    const struct gw__member *m = gw__registry_active(r, c->who, answer);
    if (!m)
        return answer->code;
    if (m->role != GW__WORKER)
        return gw__refuse(answer, GW_EINVAL, "node %u is no worker but %s",
                          c->who.node, gw__role_name(m->role));
    if (c->lease.step > UINT64_MAX - GW__LEASE_MAX)
        return gw__refuse(answer, GW_EINVAL, "there is no such step");
    struct gw__holder *holder = find_or_make(r, c->who);
    if (!holder)
        return gw__refuse(answer, GW_PENDING,
                          "%d dead processes hold shards: settle them",
                          GW__HOLDERS_MAX);
    if (holder->held > 0 && c->lease.step < holder->next_step)
        return gw__refuse(answer, GW_EINVAL,
                          "node %u has shards for the steps below %llu",
                          c->who.node, (unsigned long long)holder->next_step);
    lease(r, holder, c, answer);
    answer->data_epoch = r->data_epoch;
    return gw__say(answer, "shards leased to node %u: %u; free: %u",
                   c->who.node, answer->shard_count, r->shards_free);
}

/* ---- done ---- */

static void next_data_epoch(struct gw__registry *r)
{
    if (r->shard_count == 0 || r->shards_done < r->shard_count)
        return;
    memset(r->shards, 0, r->shard_count * sizeof *r->shards);
    r->shards_free = r->shard_count;
    r->shards_done = 0;
    r->data_epoch++;
}

/* The holder's shards planned for steps up to `through` are done; returns how
 * many. With `release` the others are free. */
static unsigned finish(struct gw__registry *r, struct gw__holder *holder,
                       uint64_t through, bool release)
{
    unsigned done = 0;
    for (uint32_t i = 0; i < r->shard_count && holder->held > 0; i++) {
        struct gw__shard *s = &r->shards[i];
        if (s->state != GW__LEASED || &r->holders[s->holder] != holder)
            continue;
        bool used = s->step <= through;
        if (!used && !release)
            continue;
        *s = used ? (struct gw__shard){.state = GW__SHARD_DONE, .step = s->step}
                  : (struct gw__shard){.state = GW__FREE};
        r->shards_done += used;
        r->shards_free += !used;
        holder->held--;
        done += used;
    }
    if (holder->held == 0)
        *holder = (struct gw__holder){.held = 0};
    next_data_epoch(r);
    return done;
}

enum gw_err gw__apply_done(struct gw__registry *r, const struct gw__command *c,
                           struct gw__answer *answer)
{
    if (!gw__registry_active(r, c->who, answer))
        return answer->code;
    struct gw__holder *holder = find(r, c->who);
    unsigned done = holder ? finish(r, holder, c->through, false) : 0;
    answer->data_epoch = r->data_epoch;
    return gw__say(answer,
                   "shards of node %u: %u more done; %u of %u in epoch %llu",
                   c->who.node, done, r->shards_done, r->shard_count,
                   (unsigned long long)r->data_epoch);
}

enum gw_err gw__apply_settle(struct gw__registry *r,
                             const struct gw__command *c,
                             struct gw__answer *answer)
{
    struct gw__member *m = gw__registry_member(r, c->who.node, answer);
    if (!m)
        return answer->code;
    if (m->state == GW__ACTIVE &&
        gw__id_equal(m->incarnation, c->who.incarnation))
        return gw__refuse(answer, GW_EINVAL,
                          "node %u is active and can speak for itself",
                          c->who.node);
    struct gw__holder *holder = find(r, c->who);
    uint32_t held = holder ? holder->held : 0;
    unsigned done = holder ? finish(r, holder, c->through, true) : 0;
    answer->data_epoch = r->data_epoch;
    return gw__say(answer, "shards of node %u: %u done, %u free again",
                   c->who.node, done, held - done);
}

void gw__shards_release(struct gw__registry *r, struct gw__process who)
{
    struct gw__holder *holder = find(r, who);
    for (uint32_t i = 0; holder && i < r->shard_count; i++)
        if (r->shards[i].state == GW__LEASED &&
            &r->holders[r->shards[i].holder] == holder) {
            r->shards[i] = (struct gw__shard){.state = GW__FREE};
            r->shards_free++;
        }
    if (holder)
        *holder = (struct gw__holder){.held = 0};
}
