/* SPDX-License-Identifier: MIT
 *
 * Decides whether an observer suspects a member. It is called once in beat_ns
 * (20 ms) for each observed member. gradwire/suspicion.h has its argument:
 *
 *     silence_ns                     since the last sign of life
 *     intervals_ns, interval_count   between the last beats, up to 64
 *
 * This version is a fixed timeout of 60 ms. It is quick in a quiet network, but
 * suspects every member in a jittery one. A longer timeout is slow in both. Yours
 * should be right in both: the last intervals show the state of the network.
 */
#include <gradwire/gradwire.h>

#define MS UINT64_C(1000000)

static bool suspects(const struct gw_silence *s)
{
    return s->silence_ns >= 60 * MS;
}

static const struct gw_suspicion mine = {.suspects = suspects};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_SUSPICION,
    .name = "mine",
    .summary = "a fixed timeout of 60 ms",
    .suspicion = &mine,
};
