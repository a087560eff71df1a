/* SPDX-License-Identifier: MIT
 *
 * A suspicion plug-in with a fixed timeout T: a member that was silent for T is
 * suspected. With beats every h and a delay d, a crash is suspected
 *
 *     between T - h + d   if its next beat was due
 *     and     T + h + d   if it had just sent a beat, and observers check every h
 *
 * after it happened. A member that sleeps longer than T is suspected, too, although
 * it lives. No T is right everywhere: jitter needs a longer one, and each crash
 * waits for it. To try it:
 *
 *     cc -shared -fPIC -I lib/include -o fixed.so labs/plugins/fixed_timeout.c
 *     ringctl sim ring --suspicion ./fixed.so --silent \
 *         --faults 'at 300ms crash 2'
 *     ringctl up 4 --suspicion ./fixed.so ops
 *
 * gradwire-plugin(7) describes plug-ins, gradwire/suspicion.h the arguments of this
 * kind. Lab 04 chooses a T.
 */
#include <gradwire/gradwire.h>

#define TIMEOUT_NS (200 * UINT64_C(1000000))

static bool suspects(const struct gw_silence *silence)
{
    return silence->silence_ns >= TIMEOUT_NS;
}

static const struct gw_suspicion fixed = {.suspects = suspects};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_SUSPICION,
    .name = "fixed_timeout",
    .summary = "suspects after 200 ms of silence",
    .suspicion = &fixed,
};
