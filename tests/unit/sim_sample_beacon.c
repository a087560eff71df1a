/* SPDX-License-Identifier: MIT
 *
 * The beacon of sim_samples.h: node 0 sends, the others follow.
 */
#include "sim_samples.h"

#include <string.h>

enum { KEY = 1, PERIOD_NS = 1000000 };

struct beacon {
    uint32_t self;
    uint64_t incarnation; /* the node that we follow */
    uint64_t progress;    /* the newest: start << 32 | number */
};

static void set_timer(const struct gw__input *input,
                      const struct gw__actions *actions)
{
    actions->set_timer(actions->driver, 0, input->now_ns + PERIOD_NS);
}

static void start(struct beacon *beacon, const struct gw__input *input,
                  const struct gw__actions *actions)
{
    size_t bytes;
    uint64_t starts = 0;
    beacon->self = input->from;
    if (beacon->self != 0)
        return;
    const void *kept = actions->load(actions->driver, KEY, &bytes);
    if (kept)
        memcpy(&starts, kept, sizeof starts);
    starts++;
    actions->persist(actions->driver, KEY, &starts, sizeof starts);
    beacon->progress = starts << 32;
    set_timer(input, actions);
}

static void send(struct beacon *beacon, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    beacon->progress++;
    for (uint32_t node = 1; node < SAMPLE_NODES; node++)
        actions->send(actions->driver, node, &beacon->progress,
                      sizeof beacon->progress);
    set_timer(input, actions);
}

static void follow(struct beacon *beacon, const struct gw__input *input,
                   bool naive, const struct gw__actions *actions)
{
    uint64_t progress;
    memcpy(&progress, input->data, sizeof progress);
    bool other = naive && input->incarnation != beacon->incarnation;
    if (progress <= beacon->progress && !other)
        return;
    beacon->incarnation = input->incarnation;
    beacon->progress = progress;
    actions->notify(actions->driver, &progress, sizeof progress);
}

static void step(struct beacon *beacon, const struct gw__input *input,
                 bool naive, const struct gw__actions *actions)
{
    if (input->kind == GW__START)
        start(beacon, input, actions);
    else if (input->kind == GW__TIMER)
        send(beacon, input, actions);
    else if (input->kind == GW__MESSAGE)
        follow(beacon, input, naive, actions);
}

static void step_right(void *state, const struct gw__input *input,
                       const struct gw__actions *actions)
{
    step(state, input, false, actions);
}

static void step_naive(void *state, const struct gw__input *input,
                       const struct gw__actions *actions)
{
    step(state, input, true, actions);
}

const struct gw__machine_kind beacon_kind = {"beacon", sizeof(struct beacon),
                                             step_right, NULL};
const struct gw__machine_kind beacon_naive_kind = {
    "naive beacon", sizeof(struct beacon), step_naive, NULL};
