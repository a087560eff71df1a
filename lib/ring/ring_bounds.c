/* SPDX-License-Identifier: MIT
 *
 * The bounds on the number of members, and how long a ring waits for them:
 * engines' --nodes=MIN:MAX.
 *
 *   above the maximum  A joiner that finds the ring full for a while withdraws,
 *                      and members admit no more than there is room for. Those
 *                      that began together may be too many: the last leave.
 *   below the minimum  Members wait between two ops for joiners. No joiner can
 *                      be admitted before an op was begun and completed in the
 *                      view in force (gw__op_table_may_admit), so after each
 *                      loss the remaining members do one op; then all wait at
 *                      the same op, since they read the same log. The time
 *                      counts from the first loss below the minimum.
 *   no controllers     A member that needs a majority of them and finds none
 *                      is parked (cluster/member/member.h), and gives up after
 *                      the same time.
 */
#include "ring_parts.h"

/* After this time the place of a dead member is free. */
static const uint64_t full_ns = 2000000000;

static bool is_over(const struct gw_ring *ring, uint64_t since_ns)
{
    uint64_t patience_ns = ring->config.patience_ms * UINT64_C(1000000);
    return patience_ns && since_ns && gw_now_ns() - since_ns > patience_ns;
}

/* ---- below the minimum ---- */

static bool has_few(const struct gw_ring *ring)
{
    const struct gw_ring_hold *hold = gw__hold_size(ring);
    unsigned least = ring->config.min_size;
    if (hold && hold->size > least)
        least = hold->size;
    return ring->ops.view.ring_count < least;
}

bool gw__bounds_wait(struct gw_ring *ring)
{
    const struct gw_ring_hold *hold = gw__hold_size(ring);
    bool waits =
        has_few(ring) && !ring->unapplied && gw__op_table_may_admit(&ring->ops);
    if (waits && hold)
        gw__hold_reached(ring, hold);
    return waits;
}

enum gw_err gw__bounds_check(struct gw_ring *ring, struct gw_error *why)
{
    const struct gw_ring_config *config = &ring->config;
    if (!has_few(ring))
        ring->few_ns = 0;
    else if (ring->few_ns == 0)
        ring->few_ns = gw_now_ns();
    if (gw__ring_has_begun(ring) || !is_over(ring, ring->few_ns))
        return GW_OK;
    return gw_fail(
        why, GW_ETIMEOUT,
        "the ring has %u of at least %u members, after %.3g s; start more",
        ring->ops.view.ring_count, config->min_size,
        config->patience_ms / 1000.0);
}

/* ---- above the maximum ---- */

bool gw__bounds_room(const struct gw_ring *ring)
{
    unsigned most = ring->config.max_size;
    return most == 0 || ring->ops.view.ring_count < most;
}

static enum gw_err fail_full(const struct gw_ring *ring, struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL, "the ring already has its %u members",
                   ring->config.max_size);
}

enum gw_err gw__bounds_join(struct gw_ring *ring, struct gw_error *why)
{
    unsigned most = ring->config.max_size;
    if (most == 0 || ring->member || ring->known.ring_count < most)
        ring->full_ns = 0;
    else if (ring->full_ns == 0)
        ring->full_ns = gw_now_ns();
    return ring->full_ns && gw_now_ns() - ring->full_ns > full_ns
               ? fail_full(ring, why)
               : GW_OK;
}

/* Joiners are placed after the present members, so all agree on those that are
 * too many. */
enum gw_err gw__bounds_keep(struct gw_ring *ring, struct gw_error *why)
{
    unsigned most = ring->config.max_size;
    gw__session_lock(&ring->session);
    int rank = gw__view_rank(&ring->ops.view, ring->session.node);
    gw__session_unlock(&ring->session);
    if (most == 0 || rank < (int)most)
        return GW_OK;
    enum gw_err err = gw_ring_leave(ring, why);
    return err ? err : fail_full(ring, why);
}

/* ---- no controllers ---- */

bool gw__bounds_abandoned(const struct gw_ring *ring)
{
    return ring->session.parked && is_over(ring, ring->session.parked_ns);
}
