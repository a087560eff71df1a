/* SPDX-License-Identifier: MIT
 *
 * A suspicion plug-in: a fixed timeout T. Who has been silent for T is
 * suspected. With beats every h that take d a crash is suspected
 *
 *     between T - h + d   it had just been about to beat
 *     and     T + h + d   it had just beaten, and observers look once in h
 *
 * after it came; and who sleeps for longer than T is suspected, though it
 * lives. No T is right everywhere: jitter wants a longer one, and each crash
 * waits for it. To try it:
 *
 *     cc -shared -fPIC -I lib/include -o fixed.so labs/plugins/fixed_timeout.c
 *     ringctl sim ring --suspicion ./fixed.so --silent \
 *         --faults 'at 300ms crash 2'
 *     ringctl up 4 --suspicion ./fixed.so ops
 *
 * gradwire-plugin(7) says what a plug-in is, gradwire/suspicion.h what this
 * kind is given; lab 04 chooses a T.
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
