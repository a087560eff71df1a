/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the messages between the logs of controllers, after decryption: any
 * bytes are refused with an error, or equal their own encoding, and every
 * pointer that libraft would follow is valid.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_raft.c
 */
#include <cluster/raft/raft_message.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_entries(const struct raft_append_entries *a)
{
    expect((a->n_entries == 0) == (a->entries == NULL));
    for (unsigned i = 0; i < a->n_entries; i++) {
        const struct raft_entry *entry = &a->entries[i];
        expect(entry->batch && entry->batch == a->entries[0].batch);
        expect(entry->buf.len > 0 && entry->buf.len % 8 == 0);
        expect((uintptr_t)entry->buf.base % 8 == 0 && entry->term > 0);
        expect(entry->type >= RAFT_COMMAND && entry->type <= RAFT_CHANGE);
    }
}

static void check_snapshot(const struct raft_install_snapshot *s)
{
    expect(s->data.base && s->data.len > 0);
    for (unsigned i = 0; i < s->conf.n; i++)
        expect(s->conf.servers[i].id > 0 && s->conf.servers[i].address[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t again[1 << 20];
    struct raft_message message;
    struct gw_error why = {.code = GW_OK};
    bool whole;
    if (gw__raft_message_decode(bytes, size, &message, &why)) {
        expect(why.code && why.text[0]);
        return 0;
    }
    if (message.type == RAFT_IO_APPEND_ENTRIES)
        check_entries(&message.append_entries);
    if (message.type == RAFT_IO_INSTALL_SNAPSHOT)
        check_snapshot(&message.install_snapshot);
    size_t used =
        gw__raft_message_encode(&message, again, sizeof again, &whole);
    expect(!whole || (used == size && memcmp(again, bytes, size) == 0));
    gw__raft_message_drop(&message);
    return 0;
}
