/* SPDX-License-Identifier: MIT
 *
 * The votes and the newest snapshot in a controller's directory; see
 * raft_dir.h.
 *
 * libraft writes its term and vote to `metadata1` and `metadata2` in turn: u64
 * format, version, term, vote. The higher version counts; a file that is too
 * short was being written. They have no checksum. A vote older than the
 * acknowledged one shows a loss: the controller could vote twice in a term.
 *
 * The metadata of a snapshot: u64 format, checksum, index of its configuration
 * and its length; then the configuration. The only checksum of its data is the
 * acknowledged one, so the data is also restored into a registry.
 */
#include "raft_dir_parts.h"

#include "cluster/registry/registry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ABOUT_BYTES = 32, PACK_HEAD = 8 };

/* ---- votes ---- */

struct vote {
    uint64_t format, version, term, vote;
};
_Static_assert(sizeof(struct vote) == GW__RAFT_DIR_METADATA_BYTES, "no holes");

static enum gw_err read_vote(struct gw__raft_dir *dir, const char *name,
                             struct vote *newest, struct gw_error *why)
{
    uint8_t *bytes;
    size_t size;
    struct vote vote = {0};
    enum gw_err err = gw__raft_dir_read(dir, name, &bytes, &size, why);
    if (!err && size >= sizeof vote)
        memcpy(&vote, bytes, sizeof vote);
    if (!err && size > sizeof vote)
        err =
            gw_fail(why, GW_EDATA, "%s/%s: byte %zu: the file should end here",
                    dir->path, name, sizeof vote);
    if (!err && size == sizeof vote &&
        (vote.format != GW__RAFT_DIR_FORMAT || vote.version == 0))
        err = gw_fail(why, GW_EDATA,
                      "%s/%s: byte 0: the format of the vote is unknown",
                      dir->path, name);
    if (!err && vote.version && vote.version == newest->version)
        err = gw_fail(why, GW_EDATA,
                      "%s/%s: byte 8: the version equals that of metadata1",
                      dir->path, name);
    free(bytes);
    if (!err && vote.version > newest->version)
        *newest = vote;
    return err;
}

static enum gw_err read_votes(struct gw__raft_dir *dir, struct vote *newest,
                              struct gw_error *why)
{
    enum gw_err err = read_vote(dir, "metadata1", newest, why);
    return err ? err : read_vote(dir, "metadata2", newest, why);
}

enum gw_err gw__raft_dir_check_vote(struct gw__raft_dir *dir,
                                    struct gw_error *why)
{
    struct vote vote = {0};
    const struct gw__raft_ack_slot *was = gw__raft_ack_vote(dir->ack);
    dir->damage = (struct gw__raft_dir_damage){.place = GW__RAFT_DAMAGED_VOTE};
    enum gw_err err = read_votes(dir, &vote, why);
    if (err)
        return err;
    dir->in_term = vote.term;
    bool older =
        was &&
        (vote.term < was->term ||
         (vote.term == was->term && was->index && vote.vote != was->index));
    if (!older && vote.term >= dir->term)
        return GW_OK;
    return gw_fail(
        why, GW_EDATA,
        "%s/metadata1, metadata2: the newest vote has term %llu and is for "
        "controller %llu, but this controller was in term %llu",
        dir->path, (unsigned long long)vote.term, (unsigned long long)vote.vote,
        (unsigned long long)(was && was->term > dir->term ? was->term
                                                          : dir->term));
}

static enum gw_err write_vote(const struct gw__raft_dir *dir, const char *name,
                              const struct vote *vote, struct gw_error *why)
{
    int fd = openat(dir->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0600);
    bool good = fd >= 0 &&
                write(fd, vote, sizeof *vote) == (ssize_t)sizeof *vote &&
                fsync(fd) == 0;
    enum gw_err err =
        good ? GW_OK : gw_fail_errno(why, "%s/%s", dir->path, name);
    if (fd >= 0)
        close(fd);
    return err;
}

enum gw_err gw__raft_dir_renew_vote(struct gw__raft_dir *dir,
                                    struct gw_error *why)
{
    struct vote vote = {0};
    struct gw_error ignored;
    const struct gw__raft_ack_slot *was = gw__raft_ack_vote(dir->ack);
    if (read_votes(dir, &vote, &ignored))
        vote.version++;
    uint64_t term = dir->term > vote.term ? dir->term : vote.term;
    if (was && was->term > term)
        term = was->term;
    vote = (struct vote){
        .format = GW__RAFT_DIR_FORMAT, .version = 1, .term = term + 1};
    enum gw_err err = write_vote(dir, "metadata1", &vote, why);
    vote.version++;
    return err ? err : write_vote(dir, "metadata2", &vote, why);
}

/* ---- the snapshot ---- */

static enum gw_err check_about(struct gw__raft_dir *dir, struct gw_error *why)
{
    char name[GW__RAFT_DIR_NAME_MAX + 8];
    uint8_t *bytes;
    size_t size;
    uint64_t head[ABOUT_BYTES / sizeof(uint64_t)] = {0};
    snprintf(name, sizeof name, "%s.meta", dir->snapshot.name);
    enum gw_err err = gw__raft_dir_read(dir, name, &bytes, &size, why);
    if (err)
        return err;
    const char *wrong = NULL;
    if (size >= sizeof head)
        memcpy(head, bytes, sizeof head);
    if (size < sizeof head || size - sizeof head < head[3])
        wrong = "it is cut short";
    else if (size - sizeof head > head[3])
        wrong = "it is too long";
    else if (head[0] != GW__RAFT_DIR_FORMAT || head[1] >> 32 != 0 ||
             gw__raft_crc(0, bytes + 16, size - 16) != head[1])
        wrong = "its checksum is wrong";
    free(bytes);
    return wrong ? gw_fail(why, GW_EDATA, "%s/%s: %zu bytes: %s", dir->path,
                           name, size, wrong)
                 : GW_OK;
}

/* In the format of raft_log_fsm.c. */
static enum gw_err try_registry(const uint8_t *bytes, size_t size,
                                struct gw_error *why)
{
    uint64_t length = 0;
    if (size >= PACK_HEAD)
        memcpy(&length, bytes, sizeof length);
    if (size < PACK_HEAD || (length + 7) / 8 * 8 != size - PACK_HEAD)
        return gw_fail(why, GW_EDATA, "the length of %zu bytes is wrong", size);
    struct gw__registry *registry = calloc(1, sizeof *registry);
    if (!registry)
        return gw_fail(why, GW_ENOMEM, "a registry");
    gw__registry_init(registry);
    enum gw_err err =
        gw__registry_restore(registry, bytes + PACK_HEAD, length, why);
    free(registry);
    return err;
}

static enum gw_err check_data(struct gw__raft_dir *dir, struct gw_error *why)
{
    const struct gw__raft_dir_snapshot *s = &dir->snapshot;
    uint8_t *bytes;
    size_t size;
    struct gw_error reason;
    enum gw_err err = gw__raft_dir_read(dir, s->name, &bytes, &size, why);
    if (err)
        return err;
    const struct gw__raft_ack_slot *was =
        gw__raft_ack_snapshot(dir->ack, s->term, s->index);
    uint32_t crc = gw__raft_crc(0, bytes, size);
    if (was && was->crc != crc)
        err = gw_fail(&reason, GW_EDATA, "%zu bytes: its checksum is wrong",
                      size);
    else
        err = try_registry(bytes, size, &reason);
    free(bytes);
    if (err)
        return gw_fail(why, err, "%s/%s: %s", dir->path, s->name, reason.text);
    if (!was)
        gw__raft_ack_record(dir->ack, GW__ACK_SNAPSHOT, s->term, s->index, crc);
    return GW_OK;
}

enum gw_err gw__raft_dir_check_snapshot(struct gw__raft_dir *dir,
                                        struct gw_error *why)
{
    if (dir->snapshot.index == 0)
        return GW_OK;
    dir->damage =
        (struct gw__raft_dir_damage){.place = GW__RAFT_DAMAGED_SNAPSHOT};
    enum gw_err err = check_about(dir, why);
    return err ? err : check_data(dir, why);
}
