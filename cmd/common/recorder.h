/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keeps the events of a short run and writes them, sorted by time, into the
 * requested files.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <gradwire/gradwire.h>

struct recorder {
    /* Paths; NULL: not asked for. */
    const char *jsonl, *trace, *metrics;
    struct gw_event *events;
    size_t count, room;
    uint64_t lost; /* for lack of memory */
};

bool recorder_wanted(const struct recorder *recorder);
void recorder_add(struct recorder *recorder, const struct gw_event *event);
/* Writes the files. On failure the sentence names the file. */
GW_MUST_CHECK enum gw_err recorder_write(struct recorder *recorder,
                                         struct gw_error *why);
void recorder_fini(struct recorder *recorder);

#endif
