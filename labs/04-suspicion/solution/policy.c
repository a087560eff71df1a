/* SPDX-License-Identifier: MIT
 *
 * The timeout is learnt: two and a half beats more than the longest interval so
 * far. That is 70 ms in a quiet network, and a little over h + J where messages
 * are late by J. With fewer than 24 intervals it is 300 ms.
 */
#include <gradwire/gradwire.h>

#define MS UINT64_C(1000000)

static uint64_t longest(const struct gw_silence *s)
{
    uint64_t most_ns = 0;
    for (unsigned i = 0; i < s->interval_count; i++)
        if (s->intervals_ns[i] > most_ns)
            most_ns = s->intervals_ns[i];
    return most_ns;
}

static bool suspects(const struct gw_silence *s)
{
    if (s->interval_count < 24)
        return s->silence_ns >= 300 * MS;
    return s->silence_ns >= longest(s) + 5 * s->beat_ns / 2;
}

static const struct gw_suspicion mine = {.suspects = suspects};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_SUSPICION,
    .name = "mine",
    .summary = "two and a half beats more than the longest interval",
    .suspicion = &mine,
};
