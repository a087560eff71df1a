/* SPDX-License-Identifier: MIT
 *
 * Fuzzes snapshots: an invalid manifest or slot file is refused with an error
 * that names the file. If both are valid, the slot's content is fuzzed: a
 * server that begins from it serves or reports an error, and its state can be
 * saved.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_snapshot.c
 *
 * If the first byte is 0, the input is the manifest, a byte 0, and the file of
 * the slot. Otherwise it is the content of the slot, and head, hash and
 * manifest are made to fit.
 */
#include "mute.h"

#include <ps/slot/snapshot.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MARK = 7, SLOTS = 1 };

/* In memory: snapshots are synced, and inputs should not wait for a disk. */
static char folder[] = "/dev/shm/gradwire-fuzz-snapshot-XXXXXX";

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void empty_folder(void)
{
    char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/manifest", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/slot-00.%x", folder, MARK);
    unlink(path);
}

static void remove_folder(void)
{
    empty_folder();
    rmdir(folder);
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    expect(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    close(fd);
}

/* ---- raw files ---- */

static void write_raw(const uint8_t *bytes, size_t size)
{
    char name[32];
    const uint8_t *end = memchr(bytes, 0, size);
    size_t manifest = end ? (size_t)(end - bytes) : size;
    size_t slot = end ? size - manifest - 1 : 0;
    snprintf(name, sizeof name, "slot-00.%x", MARK);
    write_file("manifest", bytes, manifest);
    write_file(name, end ? end + 1 : bytes, slot);
}

/* ---- the content of a slot ---- */

static void begin(struct gw__server *server)
{
    static struct gw__membership_update update;
    const struct gw_ps_table_config table = {.name = "t", .width = 2};
    unsigned number;
    gw__routes_init(&update.routes);
    expect(!gw__routes_open(&update.routes, SLOTS, 1, 1, NULL));
    expect(!gw__routes_table(&update.routes, &table, &number, NULL));
    gw__routes_servers(&update.routes, 1);
    update.index = 1;
    update.ps_member_count = 1;
    update.ps_members[0] = (struct gw__ps_member){
        .node = 0, .role = GW__SERVER, .incarnation = {1, 1}};
    gw__server_update(server, 1, &update);
    gw__server_lease(server, 1, UINT64_MAX);
    gw__server_tick(server, 2);
}

static void try_server(const struct gw__snapshot *snapshot)
{
    static struct gw_ps_server_status status;
    struct gw__server *server;
    struct gw_error why = {.code = GW_OK};
    const struct gw__server_config config = {
        .node = 0,
        .incarnation = {1, 1},
        .out = {.send = mute_send, .propose = mute_propose}};
    expect(!gw__server_new(&config, &server, NULL));
    if (gw__server_restore(server, 0, snapshot->slots[0].data,
                           snapshot->slots[0].bytes, &why)) {
        expect(why.code == GW_EDATA && why.text[0]);
    } else {
        begin(server);
        gw__server_get_status(server, &status);
        expect(gw__server_digest(server, 0) == gw__server_digest(server, 0));
    }
    gw__server_destroy(&server);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct gw__snapshot snapshot;
    static bool made;
    struct gw_error why = {.code = GW_OK};
    if (!made) {
        expect(mkdtemp(folder) && !atexit(remove_folder));
        made = true;
    }
    empty_folder();
    if (size == 0)
        return 0;
    if (bytes[0] == 0) {
        write_raw(bytes + 1, size - 1);
    } else {
        expect(!gw__snapshot_write(folder, MARK, 0, SLOTS, bytes + 1, size - 1,
                                   NULL));
        expect(!gw__snapshot_finish(folder, MARK, SLOTS, NULL));
    }
    if (gw__snapshot_open(folder, &snapshot, &why)) {
        expect(bytes[0] == 0 && why.code && why.text[0]);
        return 0;
    }
    if (snapshot.slot_count == SLOTS)
        try_server(&snapshot);
    gw__snapshot_close(&snapshot);
    return 0;
}
