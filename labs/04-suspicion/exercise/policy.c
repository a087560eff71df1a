/* SPDX-License-Identifier: MIT
 *
 * Whom an observer suspects. It is asked once in beat_ns (20 ms) about each
 * member that it watches; gradwire/suspicion.h has what it is told:
 *
 *     silence_ns                     since the last sign of life
 *     intervals_ns, interval_count   between the last beats, up to 64
 *
 * This one is a fixed timeout of 60 ms. In a quiet network it is quick; in a
 * jittery one it suspects everybody. A longer one is slow in both. Yours should
 * be right in both: the last intervals tell in which it is.
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
