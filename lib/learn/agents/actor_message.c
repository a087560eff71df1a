/* SPDX-License-Identifier: MIT
 *
 * Encoding of policies and trajectories; see actor_message.h.
 */
#include "actor_message.h"

#include <string.h>

enum { COUNT, FAILED, EPISODE, NEXT, HEAD = NEXT + GW__CARTPOLE_OBSERVED };
enum { CHANCE = GW__CARTPOLE_OBSERVED, RIGHT, STEP };

size_t gw__policy_bytes(size_t floats)
{
    return sizeof(uint64_t) + floats * sizeof(float);
}

void gw__policy_write(unsigned char *policy, uint64_t version,
                      const float *rows, size_t floats)
{
    memcpy(policy, &version, sizeof version);
    memcpy(policy + sizeof version, rows, floats * sizeof *rows);
}

uint64_t gw__policy_version(const unsigned char *policy)
{
    uint64_t version;
    memcpy(&version, policy, sizeof version);
    return version;
}

void gw__policy_rows(const unsigned char *policy, float *rows, size_t floats)
{
    memcpy(rows, policy + sizeof(uint64_t), floats * sizeof *rows);
}

size_t gw__played_count(size_t unroll)
{
    return HEAD + unroll * STEP;
}

void gw__played_write(double *message, const struct gw__played *played)
{
    const struct gw__trajectory *t = &played->trajectory;
    message[COUNT] = (double)t->count;
    message[FAILED] = t->failed;
    message[EPISODE] = (double)played->episode;
    memcpy(message + NEXT, t->next, sizeof t->next);
    for (size_t i = 0; i < t->count; i++) {
        double *to = message + HEAD + i * STEP;
        memcpy(to, t->steps[i].observation, sizeof t->steps[i].observation);
        to[CHANCE] = t->steps[i].chance;
        to[RIGHT] = t->steps[i].right;
    }
}

bool gw__played_check(const double *message, size_t unroll)
{
    /* any large integer that f64 holds exactly */
    const double episode_max = 1e15;
    return message[COUNT] >= 1 && message[COUNT] <= (double)unroll &&
           message[EPISODE] >= 0 && message[EPISODE] <= episode_max;
}

void gw__played_read(struct gw__played *played, const double *message)
{
    struct gw__trajectory *t = &played->trajectory;
    t->count = (size_t)message[COUNT];
    t->failed = message[FAILED] != 0;
    played->episode = (uint64_t)message[EPISODE];
    memcpy(t->next, message + NEXT, sizeof t->next);
    for (size_t i = 0; i < t->count; i++) {
        const double *from = message + HEAD + i * STEP;
        memcpy(t->steps[i].observation, from, sizeof t->steps[i].observation);
        t->steps[i].chance = from[CHANCE];
        t->steps[i].right = from[RIGHT] != 0;
    }
}
