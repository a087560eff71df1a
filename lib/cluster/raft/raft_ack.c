/* SPDX-License-Identifier: MIT
 *
 * The file of acknowledgements; see raft_ack.h.
 */
#include "raft_ack.h"

#include "raft_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* RING: more than the number of entries between two snapshots plus trailing
 * ones. */
enum { VOTE, SNAPSHOTS, SNAPSHOTS_MAX = 2, HEAD = 8, RING = 16384 };

struct gw__raft_ack {
    int fd;
    bool saved; /* then each later note is written */
    struct gw__raft_ack_slot slots[HEAD + RING]; /* as on disk */
};

static uint32_t check_of(const struct gw__raft_ack_slot *slot)
{
    return ~gw__raft_crc(0, slot, offsetof(struct gw__raft_ack_slot, check));
}

static unsigned slot_of(uint64_t index)
{
    return (unsigned)(HEAD + index % RING);
}

/* ---- reading ---- */

uint64_t gw__raft_ack_newest(const struct gw__raft_ack *ack)
{
    uint64_t newest = 0;
    for (unsigned i = SNAPSHOTS; i < HEAD + RING; i++)
        if (ack->slots[i].kind != GW__ACK_NOTHING &&
            ack->slots[i].index > newest)
            newest = ack->slots[i].index;
    return newest;
}

const struct gw__raft_ack_slot *gw__raft_ack_entry(const struct gw__raft_ack *a,
                                                   uint64_t index)
{
    const struct gw__raft_ack_slot *slot = &a->slots[slot_of(index)];
    return slot->kind == GW__ACK_ENTRY && slot->index == index ? slot : NULL;
}

const struct gw__raft_ack_slot *
gw__raft_ack_snapshot(const struct gw__raft_ack *ack, uint64_t term,
                      uint64_t index)
{
    for (unsigned i = SNAPSHOTS; i < SNAPSHOTS + SNAPSHOTS_MAX; i++)
        if (ack->slots[i].kind == GW__ACK_SNAPSHOT &&
            ack->slots[i].term == term && ack->slots[i].index == index)
            return &ack->slots[i];
    return NULL;
}

const struct gw__raft_ack_slot *gw__raft_ack_vote(const struct gw__raft_ack *a)
{
    return a->slots[VOTE].kind == GW__ACK_VOTE ? &a->slots[VOTE] : NULL;
}

/* ---- writing ---- */

static bool write_slot(struct gw__raft_ack *ack, unsigned i,
                       const struct gw__raft_ack_slot *slot)
{
    ack->slots[i] = *slot;
    if (slot->kind != GW__ACK_NOTHING)
        ack->slots[i].check = check_of(slot);
    return !ack->saved ||
           pwrite(ack->fd, &ack->slots[i], sizeof *slot,
                  (off_t)(i * sizeof *slot)) == (ssize_t)sizeof *slot;
}

/* Keeps the two newest snapshots, as libraft does. */
static unsigned snapshot_slot(struct gw__raft_ack *ack, uint64_t term,
                              uint64_t index)
{
    const struct gw__raft_ack_slot *same =
        gw__raft_ack_snapshot(ack, term, index);
    if (same)
        return (unsigned)(same - ack->slots);
    const struct gw__raft_ack_slot *two = ack->slots + SNAPSHOTS;
    return SNAPSHOTS + (two[0].index > two[1].index);
}

bool gw__raft_ack_record(struct gw__raft_ack *ack, enum gw__raft_ack_kind kind,
                         uint64_t term, uint64_t index, uint32_t crc)
{
    unsigned i = kind == GW__ACK_VOTE       ? VOTE
                 : kind == GW__ACK_SNAPSHOT ? snapshot_slot(ack, term, index)
                                            : slot_of(index);
    const struct gw__raft_ack_slot slot = {
        .index = index, .term = term, .crc = crc, .kind = kind};
    return write_slot(ack, i, &slot);
}

bool gw__raft_ack_forget(struct gw__raft_ack *ack, uint64_t index)
{
    static const struct gw__raft_ack_slot empty;
    bool good = true, any = false, saved = ack->saved;
    ack->saved = true;
    for (unsigned i = index ? SNAPSHOTS : VOTE; i < HEAD + RING; i++) {
        const struct gw__raft_ack_slot *slot = &ack->slots[i];
        if (slot->kind == GW__ACK_NOTHING || slot->index < index)
            continue;
        good &= write_slot(ack, i, &empty);
        any = true;
    }
    ack->saved = saved;
    return good && (!any || fdatasync(ack->fd) == 0);
}

/* ---- opening and closing ---- */

/* Missing or damaged slots count as empty. */
static void read_slots(struct gw__raft_ack *ack)
{
    ssize_t got = pread(ack->fd, ack->slots, sizeof ack->slots, 0);
    size_t whole = got > 0 ? (size_t)got / sizeof *ack->slots : 0;
    for (unsigned i = 0; i < HEAD + RING; i++) {
        struct gw__raft_ack_slot *slot = &ack->slots[i];
        if (i >= whole || slot->check != check_of(slot) ||
            (i >= HEAD && slot_of(slot->index) != i))
            *slot = (struct gw__raft_ack_slot){0};
    }
}

void gw__raft_ack_reload(struct gw__raft_ack *ack)
{
    read_slots(ack);
}

bool gw__raft_ack_save(struct gw__raft_ack *ack)
{
    ack->saved = true;
    return pwrite(ack->fd, ack->slots, sizeof ack->slots, 0) ==
               (ssize_t)sizeof ack->slots &&
           fdatasync(ack->fd) == 0;
}

enum gw_err gw__raft_ack_open(const char *directory, struct gw__raft_ack **out,
                              struct gw_error *why)
{
    char path[PATH_MAX];
    struct gw__raft_ack *ack = calloc(1, sizeof *ack);
    *out = ack;
    if (!ack)
        return gw_fail(why, GW_ENOMEM, "a log");
    snprintf(path, sizeof path, "%s/acknowledged", directory);
    ack->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    enum gw_err err = GW_OK;
    if (ack->fd < 0)
        err = gw_fail_errno(why, "%s", path);
    /* Then no slot needs more disk space later. */
    int failed =
        err ? 0 : posix_fallocate(ack->fd, 0, (off_t)sizeof ack->slots);
    if (failed && failed != EOPNOTSUPP && failed != EINVAL) {
        errno = failed;
        err = gw_fail_errno(why, "%s", path);
    }
    if (err)
        gw__raft_ack_close(out);
    else
        read_slots(ack);
    return err;
}

void gw__raft_ack_close(struct gw__raft_ack **ack)
{
    if (!*ack)
        return;
    if ((*ack)->fd >= 0)
        close((*ack)->fd);
    free(*ack);
    *ack = NULL;
}
