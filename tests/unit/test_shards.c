/* SPDX-License-Identifier: MIT
 *
 * The pool of data shards against a model that hands them out one by one:
 * whichever members die in an op, leave or join, each shard is used exactly
 * once per epoch, and no two members have the same one.
 */
#include <gradwire/ring.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_shards(void);

enum { MOST = 200 };

struct shard_pool {
    struct gw_shards *shards;
    unsigned used[MOST]; /* in this epoch, by our own count */
};

static void pool_init(struct shard_pool *pool, uint32_t count)
{
    memset(pool, 0, sizeof *pool);
    pool->shards = malloc(gw_shards_bytes(count));
    ck_assert(pool->shards);
    gw_shards_init(pool->shards, count);
}

static struct gw_ring_result op_of(unsigned count, const unsigned *nodes,
                                   uint64_t contributors)
{
    struct gw_ring_result result = {.contributors = {{contributors}},
                                    .initial_count = count};
    memcpy(result.initial_members, nodes, count * sizeof *nodes);
    return result;
}

START_TEST(positions_have_the_first_that_are_not_done)
{
    static const unsigned nodes[] = {5, 60, 2};
    struct shard_pool pool;
    pool_init(&pool, 5);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(gw_shards_of(pool.shards, i), i);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 5), GW_NONE);
    struct gw_ring_result op = op_of(3, nodes, 1ULL << 5 | 1ULL << 2);
    gw_shards_complete(pool.shards, &op);
    ck_assert_uint_eq(pool.shards->done, 2);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 0), 1); /* of the dead */
    ck_assert_uint_eq(gw_shards_of(pool.shards, 1), 3);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 2), 4);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 3), GW_NONE);
    op = op_of(3, nodes, 1ULL << 5 | 1ULL << 60 | 1ULL << 2);
    gw_shards_complete(pool.shards, &op);
    ck_assert_uint_eq(pool.shards->epoch, 1);
    ck_assert_uint_eq(pool.shards->done, 0);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 4), 4);
    free(pool.shards);
}
END_TEST

START_TEST(a_position_without_a_shard_uses_none)
{
    static const unsigned nodes[] = {0, 1, 2};
    struct shard_pool pool;
    pool_init(&pool, 2);
    struct gw_ring_result op = op_of(3, nodes, 1 | 4);
    gw_shards_complete(pool.shards, &op);
    ck_assert_uint_eq(pool.shards->done, 1);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 0), 1);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 1), GW_NONE);
    op = op_of(1, nodes, 1);
    gw_shards_complete(pool.shards, &op);
    ck_assert_uint_eq(pool.shards->epoch, 1);
    ck_assert_uint_eq(pool.shards->lost + pool.shards->doubled, 0);
    free(pool.shards);
}
END_TEST

START_TEST(an_empty_pool_stays_empty)
{
    static const unsigned nodes[] = {0};
    struct shard_pool pool;
    pool_init(&pool, 0);
    struct gw_ring_result op = op_of(1, nodes, 1);
    gw_shards_complete(pool.shards, &op);
    ck_assert_uint_eq(gw_shards_of(pool.shards, 0), GW_NONE);
    ck_assert_uint_eq(pool.shards->epoch, 0);
    free(pool.shards);
}
END_TEST

/* A wrong use in the state is found. */
START_TEST(the_audit_counts_what_was_used)
{
    static const unsigned nodes[] = {0, 1};
    struct shard_pool pool;
    pool_init(&pool, 4);
    struct gw_ring_result op = op_of(2, nodes, 3);
    gw_shards_complete(pool.shards, &op);
    pool.shards->uses[0]++;
    pool.shards->uses[1] = 0;
    pool.shards->first = 2;
    gw_shards_complete(pool.shards, &op);
    ck_assert_uint_eq(pool.shards->doubled, 1);
    ck_assert_uint_eq(pool.shards->lost, 1);
    free(pool.shards);
}
END_TEST

/* ---- at random ---- */

struct ring {
    unsigned count;
    unsigned nodes[GW_RING_NODES];
};

static void join(struct ring *ring, unsigned node)
{
    for (unsigned i = 0; i < ring->count; i++)
        if (ring->nodes[i] == node)
            return;
    ring->nodes[ring->count++] = node;
}

static void lose(struct ring *ring, uint64_t dead)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < ring->count; i++)
        if (!(dead >> ring->nodes[i] & 1))
            ring->nodes[kept++] = ring->nodes[i];
    ring->count = kept;
}

/* Some die in the op (never all); for each it is drawn whether it still counts:
 * FORWARD or EXCLUDE. */
static uint64_t draw_dead(struct gw_rng *rng, const struct ring *ring)
{
    uint64_t dead = 0;
    for (unsigned i = 1; i < ring->count; i++)
        if (gw_rng_below(rng, 20) == 0)
            dead |= 1ULL << ring->nodes[i];
    return dead;
}

static void check_epoch_end(struct shard_pool *pool, uint32_t count,
                            uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++)
        ck_assert_msg(pool->used[i] == 1,
                      "shard %" PRIu32 " of %" PRIu32
                      " was used %u times; seed %" PRIu64,
                      i, count, pool->used[i], seed);
    memset(pool->used, 0, sizeof pool->used);
}

static void one_op(struct shard_pool *pool, struct ring *ring,
                   struct gw_rng *rng, uint32_t count, uint64_t seed)
{
    struct gw_ring_result op = op_of(ring->count, ring->nodes, 0);
    uint64_t dead = draw_dead(rng, ring), before = pool->shards->epoch;
    bool forward = gw_rng_below(rng, 2);
    for (unsigned i = 0; i < ring->count; i++) {
        uint32_t shard = gw_shards_of(pool->shards, i);
        bool counts = forward || !(dead >> ring->nodes[i] & 1);
        op.contributors.words[0] |= (uint64_t)counts << ring->nodes[i];
        if (shard != GW_NONE && counts)
            pool->used[shard]++;
    }
    gw_shards_complete(pool->shards, &op);
    if (pool->shards->epoch != before)
        check_epoch_end(pool, count, seed);
    lose(ring, dead);
}

START_TEST(each_shard_once_an_epoch_whoever_dies)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct gw_rng rng;
        struct shard_pool pool;
        struct ring ring = {0};
        gw_rng_seed(&rng, seed);
        uint32_t count = 1 + (uint32_t)gw_rng_below(&rng, MOST);
        pool_init(&pool, count);
        join(&ring, (unsigned)gw_rng_below(&rng, 64));
        while (pool.shards->epoch < 5) {
            if (gw_rng_below(&rng, 4) == 0 && ring.count < 8)
                join(&ring, (unsigned)gw_rng_below(&rng, 64));
            one_op(&pool, &ring, &rng, count, seed);
        }
        ck_assert_uint_eq(pool.shards->lost, 0);
        ck_assert_uint_eq(pool.shards->doubled, 0);
        free(pool.shards);
    }
}
END_TEST

Suite *suite_shards(void)
{
    Suite *suite = suite_create("shards");
    TCase *tcase = tcase_create("shards");
    tcase_add_test(tcase, positions_have_the_first_that_are_not_done);
    tcase_add_test(tcase, a_position_without_a_shard_uses_none);
    tcase_add_test(tcase, an_empty_pool_stays_empty);
    tcase_add_test(tcase, the_audit_counts_what_was_used);
    tcase_add_test(tcase, each_shard_once_an_epoch_whoever_dies);
    suite_add_tcase(suite, tcase);
    return suite;
}
