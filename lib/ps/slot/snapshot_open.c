/* SPDX-License-Identifier: MIT
 *
 * Reads a snapshot. All of it is checked before any of it is used.
 */
#include "snapshot_parts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum gw_err bad(struct gw_error *why, const char *directory,
                       const char *what)
{
    return gw_fail(why, GW_EDATA, "snapshot %s: %s", directory, what);
}

/* ---- the manifest ---- */

/* Adds a terminating zero; returns the size, or 0. */
static size_t read_text(int folder, char text[MANIFEST_MAX])
{
    int fd = openat(folder, "manifest", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, MANIFEST_MAX - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

static enum gw_err parse_slots(const char *at, const char *directory,
                               struct manifest *manifest, struct gw_error *why)
{
    unsigned slot;
    int used;
    for (unsigned i = 0; i < manifest->slot_count; i++, at += used) {
        used = 0;
        if (sscanf(at, "slot %u %" SCNu64 " %" SCNx64 "\n%n", &slot,
                   &manifest->bytes[i], &manifest->hash[i], &used) != 3 ||
            slot != i || used == 0)
            return bad(why, directory, "the manifest is cut short");
    }
    return GW_OK;
}

/* The text must be exactly as gw__snapshot_manifest writes it, byte by byte. */
static enum gw_err check_text(const char *text, size_t bytes,
                              const char *directory,
                              const struct manifest *manifest,
                              struct gw_error *why)
{
    char wanted[MANIFEST_MAX];
    size_t same = 0, wanted_bytes = gw__snapshot_manifest(manifest, wanted);
    while (same < bytes && same < wanted_bytes && text[same] == wanted[same])
        same++;
    if (same == wanted_bytes && same == bytes)
        return GW_OK;
    return gw_fail(why, GW_EDATA,
                   same == wanted_bytes
                       ? "snapshot %s: manifest: %zu extra bytes after byte %zu"
                       : "snapshot %s: manifest: it was altered: of its %zu "
                         "bytes, byte %zu is wrong",
                   directory, same == wanted_bytes ? bytes - same : bytes,
                   same);
}

static enum gw_err read_manifest(int folder, const char *directory,
                                 struct manifest *manifest,
                                 struct gw_error *why)
{
    char text[MANIFEST_MAX];
    unsigned version = 0;
    int used = 0;
    size_t bytes = read_text(folder, text);
    if (bytes == 0)
        return bad(why, directory, "it has no manifest: it was never complete");
    if (sscanf(text, "gradwire snapshot %u\nmark %" SCNx64 "\nslots %u\n%n",
               &version, &manifest->mark, &manifest->slot_count, &used) != 3)
        return bad(why, directory, "the manifest is not one of gradwire");
    if (version != SNAPSHOT_VERSION)
        return gw_fail(why, GW_EDATA,
                       "snapshot %s: manifest: version %u instead of %d; use "
                       "the release that wrote it",
                       directory, version, SNAPSHOT_VERSION);
    if (manifest->slot_count == 0 || manifest->slot_count > GW_PS_SLOTS_MAX)
        return bad(why, directory,
                   "the manifest has an impossible number of slots");
    enum gw_err err = parse_slots(text + used, directory, manifest, why);
    return err ? err : check_text(text, bytes, directory, manifest, why);
}

/* ---- slots ---- */

static enum gw_err check_slot(const char *name, const struct slot_head *head,
                              size_t file_bytes,
                              const struct manifest *manifest, unsigned slot,
                              struct gw_error *why)
{
    size_t wanted = sizeof *head + manifest->bytes[slot];
    if (file_bytes != wanted)
        return gw_fail(why, GW_EDATA, "%s: it %s: %zu bytes instead of %zu",
                       name,
                       file_bytes < wanted ? "is cut short" : "is too long",
                       file_bytes, wanted);
    if (head->magic != SLOT_MAGIC || head->version != SNAPSHOT_VERSION ||
        head->mark != manifest->mark || head->slot != slot ||
        head->slot_count != manifest->slot_count || head->reserved != 0 ||
        head->bytes != manifest->bytes[slot] ||
        head->hash != manifest->hash[slot])
        return gw_fail(why, GW_EDATA,
                       "%s: its head does not match the manifest", name);
    if (gw_hash(head + 1, head->bytes, 0) != manifest->hash[slot])
        return gw_fail(why, GW_EDATA,
                       "%s: it was altered: its checksum is wrong", name);
    return GW_OK;
}

static enum gw_err open_slot(int folder, const struct manifest *manifest,
                             unsigned slot, struct gw__snapshot *snapshot,
                             struct gw_error *why)
{
    char name[SLOT_NAME_MAX];
    struct stat about;
    gw__snapshot_name(manifest->mark, slot, name);
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return gw_fail(why, GW_EDATA, "%s: the file is missing", name);
    if (fstat(fd, &about) != 0 ||
        (size_t)about.st_size < sizeof(struct slot_head)) {
        close(fd);
        return gw_fail(why, GW_EDATA, "%s: the file is cut short", name);
    }
    size_t bytes = (size_t)about.st_size;
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return gw_fail_errno(why, "%s", name);
    snapshot->slots[slot].map = map;
    snapshot->slots[slot].map_bytes = bytes;
    snapshot->slots[slot].data = (const struct slot_head *)map + 1;
    snapshot->slots[slot].bytes = bytes - sizeof(struct slot_head);
    return check_slot(name, map, bytes, manifest, slot, why);
}

static enum gw_err open_all(int folder, const char *directory,
                            struct gw__snapshot *snapshot, struct gw_error *why)
{
    struct manifest manifest = {0};
    struct gw_error cause;
    enum gw_err err = read_manifest(folder, directory, &manifest, why);
    if (err)
        return err;
    snapshot->mark = manifest.mark;
    snapshot->slot_count = manifest.slot_count;
    for (unsigned slot = 0; !err && slot < manifest.slot_count; slot++)
        err = open_slot(folder, &manifest, slot, snapshot, &cause);
    if (err)
        gw_fail(why, err, "snapshot %s: %s", directory, cause.text);
    return err;
}

enum gw_err gw__snapshot_open(const char *directory,
                              struct gw__snapshot *snapshot,
                              struct gw_error *why)
{
    int folder = -1;
    memset(snapshot, 0, sizeof *snapshot);
    enum gw_err err = gw__snapshot_directory(directory, false, &folder, why);
    if (err)
        return err;
    err = open_all(folder, directory, snapshot, why);
    close(folder);
    if (err)
        gw__snapshot_close(snapshot);
    return err;
}

void gw__snapshot_close(struct gw__snapshot *snapshot)
{
    for (unsigned slot = 0; slot < GW_PS_SLOTS_MAX; slot++)
        if (snapshot->slots[slot].map)
            munmap(snapshot->slots[slot].map, snapshot->slots[slot].map_bytes);
    memset(snapshot, 0, sizeof *snapshot);
}
