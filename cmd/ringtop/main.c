/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ringtop: the live view. Events go one way through it:
 *
 *     source -> player -> state -> draw -> grid -> screen | batch | recording
 *
 *     source.h   the origins of events
 *     player.h   the time at which each is shown
 *     state.h    the state that they add up to
 *     draw.h     a pure picture of it
 *     show.h     joins these
 *     top.c      options, and the choice of the output
 */
#include "ringtop.h"

static const struct tool ringtop = {
    .name = "ringtop",
    .summary = "show ranks, ring and chunks, live or recorded",
    .only = &command_top,
    .examples =
        "ringctl up 4 ops; ringtop         a live ring (F1 shows the keys)\n"
        "collrun run allreduce --algo ring --events F.jsonl\n"
        "ringtop --from F.jsonl            plays the recording\n"
        "ringtop --from F.jsonl --batch -n 3   three pictures as text\n"
        "tail -f F.jsonl | ringtop -       follows a growing file\n",
};

/* Without arguments other tools print their help; this one attaches to the
 * latest run. */
int main(int argc, char **argv)
{
    char nothing_more[] = "--";
    char *arguments[] = {argv[0], nothing_more, NULL};
    return argc > 1 ? tool_main(&ringtop, argc, argv)
                    : tool_main(&ringtop, 2, arguments);
}
