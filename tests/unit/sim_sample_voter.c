/* SPDX-License-Identifier: MIT
 *
 * The voter of sim_samples.h.
 */
#include "sim_samples.h"

#include <string.h>

enum flaw { RIGHT, FORGETS, EARLY };
enum message_kind { REQUEST, GRANT };
enum { NO_VOTE = UINT8_MAX, KEY = 1 };

struct message {
    uint64_t term;
    uint64_t kind; /* enum message_kind */
};

struct vote {
    uint64_t term;
    uint32_t whom;
    uint32_t reserved;
};

struct voter {
    struct gw_rng rng;
    uint32_t self;
    uint32_t votes; /* of those who voted for us: a set */
    struct vote vote;
};

static void set_timeout(struct voter *voter, const struct gw__input *input,
                        const struct gw__actions *actions)
{
    uint64_t wait_ns = 5000000 + gw_rng_below(&voter->rng, 10000000);
    actions->set_timer(actions->driver, 0, input->now_ns + wait_ns);
}

static void persist(const struct voter *voter,
                    const struct gw__actions *actions)
{
    actions->persist(actions->driver, KEY, &voter->vote, sizeof voter->vote);
}

static void start(struct voter *voter, const struct gw__input *input,
                  const struct gw__actions *actions)
{
    size_t bytes;
    const void *vote = actions->load(actions->driver, KEY, &bytes);
    gw_rng_seed(&voter->rng, input->seed);
    voter->self = input->from;
    voter->vote.whom = NO_VOTE;
    if (vote)
        memcpy(&voter->vote, vote, sizeof voter->vote);
    set_timeout(voter, input, actions);
}

static void stand(struct voter *voter, const struct gw__input *input,
                  const struct gw__actions *actions)
{
    voter->vote.term++;
    voter->vote.whom = voter->self;
    voter->votes = 1U << voter->self;
    persist(voter, actions);
    struct message request = {voter->vote.term, REQUEST};
    for (uint32_t node = 0; node < SAMPLE_NODES; node++)
        if (node != voter->self)
            actions->send(actions->driver, node, &request, sizeof request);
    set_timeout(voter, input, actions);
}

static void grant(struct voter *voter, const struct gw__input *input,
                  uint64_t term, enum flaw flaw,
                  const struct gw__actions *actions)
{
    struct vote *vote = &voter->vote;
    if (term > vote->term)
        *vote = (struct vote){.term = term, .whom = NO_VOTE};
    if (term < vote->term ||
        (vote->whom != NO_VOTE && vote->whom != input->from))
        return;
    vote->whom = input->from;
    struct message reply = {term, GRANT};
    if (flaw == RIGHT)
        persist(voter, actions);
    actions->send(actions->driver, input->from, &reply, sizeof reply);
    if (flaw == EARLY)
        persist(voter, actions);
    set_timeout(voter, input, actions);
}

static void count(struct voter *voter, const struct gw__input *input,
                  uint64_t term, const struct gw__actions *actions)
{
    if (term != voter->vote.term || voter->vote.whom != voter->self)
        return;
    voter->votes |= 1U << input->from;
    if (2 * __builtin_popcount(voter->votes) > SAMPLE_NODES)
        actions->notify(actions->driver, &term, sizeof term);
}

static void step(struct voter *voter, const struct gw__input *input,
                 enum flaw flaw, const struct gw__actions *actions)
{
    struct message message;
    if (input->kind == GW__START)
        start(voter, input, actions);
    else if (input->kind == GW__TIMER)
        stand(voter, input, actions);
    else if (input->kind == GW__MESSAGE) {
        memcpy(&message, input->data, sizeof message);
        if (message.kind == REQUEST)
            grant(voter, input, message.term, flaw, actions);
        else
            count(voter, input, message.term, actions);
    }
}

static void step_right(void *state, const struct gw__input *input,
                       const struct gw__actions *actions)
{
    step(state, input, RIGHT, actions);
}

static void step_forgets(void *state, const struct gw__input *input,
                         const struct gw__actions *actions)
{
    step(state, input, FORGETS, actions);
}

static void step_early(void *state, const struct gw__input *input,
                       const struct gw__actions *actions)
{
    step(state, input, EARLY, actions);
}

const struct gw__machine_kind voter_kind = {"voter", sizeof(struct voter),
                                            step_right, NULL};
const struct gw__machine_kind voter_forgets_kind = {
    "voter that forgets", sizeof(struct voter), step_forgets, NULL};
const struct gw__machine_kind voter_early_kind = {
    "hasty voter", sizeof(struct voter), step_early, NULL};
