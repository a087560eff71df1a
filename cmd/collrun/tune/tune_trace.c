/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sizes for `collrun tune --from`: the calls of a program, from a recording
 * of its events. Each op_begin has a collective and a number of bytes. Sizes
 * between two powers of two count as one, of which the largest is measured. Op 0
 * is the connection of the ranks.
 */
#include "tune.h"

#include <stdio.h>
#include <stdlib.h>

/* Its number of binary digits. */
static unsigned class_of_size(uint64_t bytes)
{
    unsigned class = 0;
    for (; bytes; bytes >>= 1)
        class ++;
    return class;
}

static void add_use(struct tune_use *use, uint64_t bytes)
{
    if (use->calls == 0 || bytes < use->least_bytes)
        use->least_bytes = bytes;
    if (bytes > use->most_bytes)
        use->most_bytes = bytes;
    use->calls++;
}

/* Each rank has the same calls: those of rank 0 are counted. Calls whose blocks
 * have several lengths have no size. */
static void add_call(struct tune *tune, const struct gw_event *event)
{
    bool known = event->value >= 0 && event->value < GW_COLLECTIVES;
    if (event->kind != GW_EV_OP_BEGIN || event->op == 0 || !known)
        return;
    if (event->rank != GW_NONE && event->rank >= tune->ranks[0])
        tune->ranks[0] = event->rank + 1;
    if (event->rank == 0 && (event->bytes > 0 || event->value == GW_BARRIER))
        add_use(&tune->uses[event->value][class_of_size(event->bytes)],
                event->bytes);
}

static enum gw_err read_lines(struct tune *tune, FILE *file, const char *path,
                              struct gw_error *why)
{
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    enum gw_err err = GW_OK;
    while (!err && getline(&line, &room, file) >= 0) {
        struct gw_event event;
        number++;
        err = gw_event_parse(line, &event, why);
        if (!err)
            add_call(tune, &event);
    }
    free(line);
    return err ? gw_wrap(why, err, "%s:%u", path, number) : GW_OK;
}

static bool has_uses(const struct tune *tune)
{
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        for (unsigned s = 0; s < TUNE_SIZES; s++)
            if (tune->uses[c][s].calls)
                return true;
    return false;
}

enum gw_err tune_read_uses(struct tune *tune, const char *path,
                           struct gw_error *why)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return gw_fail_errno(why, "%s", path);
    tune->ranks[0] = 0;
    tune->ranks_count = 1;
    tune->from_program = true;
    enum gw_err err = read_lines(tune, file, path, why);
    fclose(file);
    if (!err && (!has_uses(tune) || tune->ranks[0] < 2))
        return gw_fail(why, GW_EDATA,
                       "%s: no collectives of two or more ranks; record the "
                       "events of all ranks with GRADWIRE_MPI_TRACE=events or "
                       "collrun run --events",
                       path);
    return err;
}
