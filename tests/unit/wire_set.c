/* SPDX-License-Identifier: MIT
 *
 * Crews of wires; see wire_set.h.
 */
#include "wire_set.h"

#include "wire/emulation/link_profiles.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

static const char *const all_wires[] = {
    "shm",       "ipc",       "tcp",         "quiet shm",
    "quiet ipc", "quiet tcp", "rough shm",   "rough ipc",
    "rough tcp", "keyed tcp", "keyed ipc",   "zmq",
    "keyed zmq", "verbs",     "quiet verbs", "rough verbs"};
static const uint64_t patience_ns = 10 * 1000000000ULL;
static const uint64_t doze_ns = 20 * 1000000ULL;

const char *wire_plain_name(const char *name)
{
    const char *space = strchr(name, ' ');
    return space ? space + 1 : name;
}

static bool is_chosen(const char *name)
{
    const char *chosen = getenv("GW_TEST_WIRES");
    if (!chosen)
        chosen = "shm,ipc,tcp,zmq";
    return strstr(chosen, wire_plain_name(name));
}

const char *wire_set_name(int index)
{
    for (size_t i = 0; i < sizeof all_wires / sizeof *all_wires; i++)
        if (is_chosen(all_wires[i]) && index-- == 0)
            return all_wires[i];
    return NULL;
}

int wire_set_count(void)
{
    int count = 0;
    while (wire_set_name(count))
        count++;
    return count;
}

struct gw_comm_config wire_set_config(const char *name, unsigned rank,
                                      unsigned size)
{
    return (struct gw_comm_config){
        .rank = rank,
        .size = size,
        .wire = wire_plain_name(name),
        .insecure = strcmp(wire_plain_name(name), "verbs") == 0,
        .slice_bytes =
            size < WIRE_SET_MAX ? SET_SLICE_BYTES : FULL_SET_SLICE_BYTES};
}

/* One table for all ranks of the process, which is never freed. */
static struct gw__link_profiles *profiles_for(const char *name)
{
    static struct gw__link_profiles *tables[2];
    static const struct gw_link_profile profile = {
        .delay_us = 150, .jitter_us = 150, .loss_ppm = 5000};
    bool rough = strncmp(name, "rough", 5) == 0;
    struct gw__link_profiles **table = &tables[rough];
    struct gw_error why;
    if (!*table) {
        ck_assert_int_eq(gw__link_profiles_new(7, table, &why), GW_OK);
        for (unsigned node = 0; rough && node < WIRE_SET_MAX; node++)
            gw__link_profiles_set(*table, node, &profile);
    }
    return *table;
}

/* All sets of the process share it; it has no name in a folder. */
static const char *key_path(void)
{
    static char path[64];
    char public_key[41], secret_key[41];
    if (path[0])
        return path;
    int fd = memfd_create("key", MFD_CLOEXEC);
    ck_assert_int_eq(zmq_curve_keypair(public_key, secret_key), 0);
    ck_assert_int_eq(dprintf(fd, "%s\n%s\n", public_key, secret_key), 82);
    ck_assert_int_eq(fchmod(fd, 0600), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

struct gw__wire *wire_set_open(const char *name, unsigned rank, unsigned size,
                               unsigned lanes)
{
    static const unsigned nodes[WIRE_SET_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct gw_comm_config config = wire_set_config(name, rank, size);
    struct gw__wire *wire, *emulated;
    struct gw_error why;
    bool keyed = strncmp(name, "keyed", 5) == 0;
    config.lanes = lanes;
    config.key_file = keyed ? key_path() : NULL;
    enum gw_err err = gw__wire_open(&config, &wire, &why);
    if (!err && !keyed && wire_plain_name(name) != name) {
        err = gw__wire_emulated(&wire, profiles_for(name), nodes, &emulated,
                                &why);
        wire = emulated;
    }
    ck_assert_msg(err == GW_OK, "%s: %s", gw_err_name(err), why.text);
    return wire;
}

struct joiner {
    pthread_t thread;
    struct gw__wire *wire;
    const struct gw__address *table;
    enum gw_err err;
    struct gw_error why;
};

static void *join_one(void *context)
{
    struct joiner *joiner = context;
    joiner->err = joiner->wire->ops->connect(
        joiner->wire, joiner->table, gw_now_ns() + patience_ns, &joiner->why);
    return NULL;
}

static void join_all(struct wire_set *set)
{
    struct joiner joiners[WIRE_SET_MAX] = {0};
    for (unsigned r = 0; r < set->size; r++) {
        joiners[r].wire = set->wires[r];
        joiners[r].table = set->table;
        if (set->wires[r])
            pthread_create(&joiners[r].thread, NULL, join_one, &joiners[r]);
    }
    for (unsigned r = 0; r < set->size; r++)
        if (set->wires[r]) {
            pthread_join(joiners[r].thread, NULL);
            ck_assert_msg(joiners[r].err == GW_OK, "rank %u: %s", r,
                          joiners[r].why.text);
        }
}

void wire_set_start(struct wire_set *set, const char *name, unsigned size,
                    unsigned lanes)
{
    *set = (struct wire_set){.name = name, .size = size};
    for (unsigned r = 0; r < size; r++) {
        set->wires[r] = wire_set_open(name, r, size, lanes);
        set->table[r] = set->wires[r]->address;
    }
    join_all(set);
}

static bool pass_on(int fd, bool out, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t moved = out ? write(fd, at, count) : read(fd, at, count);
        if (moved <= 0)
            return false;
        at += moved;
        count -= (size_t)moved;
    }
    return true;
}

/* The child: it opens the wire, connects, runs `body` and reports that. */
static void live(struct wire_set *set, int channel, wire_set_child body,
                 void *context)
{
    unsigned rank = set->child_rank;
    char ready = 1;
    struct gw_error why = {.text = "the crew is gone"};
    struct gw__wire *wire = wire_set_open(set->name, rank, set->size, 0);
    if (!pass_on(channel, true, &wire->address, sizeof wire->address) ||
        !pass_on(channel, false, set->table, sizeof set->table) ||
        wire->ops->connect(wire, set->table, gw_now_ns() + patience_ns, &why)) {
        fprintf(stderr, "child: %s\n", why.text);
        _exit(1);
    }
    body(wire, context);
    pass_on(channel, true, &ready, 1);
    for (;;)
        pause();
}

void wire_set_start_with_child(struct wire_set *set, const char *name,
                               unsigned size, unsigned child_rank,
                               wire_set_child body, void *context)
{
    int channel[2];
    char ready;
    *set =
        (struct wire_set){.name = name, .size = size, .child_rank = child_rank};
    (void)key_path(); /* which the child has, too */
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
    set->child = fork();
    if (set->child == 0)
        live(set, channel[1], body, context);
    for (unsigned r = 0; r < size; r++) {
        if (r == child_rank) {
            ck_assert(
                pass_on(channel[0], false, &set->table[r], sizeof *set->table));
            continue;
        }
        set->wires[r] = wire_set_open(name, r, size, 0);
        set->table[r] = set->wires[r]->address;
    }
    ck_assert(pass_on(channel[0], true, set->table, sizeof set->table));
    join_all(set);
    ck_assert(pass_on(channel[0], false, &ready, 1));
    close(channel[0]);
    close(channel[1]);
}

static void *close_one(void *context)
{
    struct gw__wire **wire = context;
    gw__wire_close(wire);
    return NULL;
}

void wire_set_end(struct wire_set *set)
{
    pthread_t threads[WIRE_SET_MAX];
    for (unsigned r = 0; r < set->size; r++)
        pthread_create(&threads[r], NULL, close_one, &set->wires[r]);
    for (unsigned r = 0; r < set->size; r++)
        pthread_join(threads[r], NULL);
    if (set->child) {
        kill(set->child, SIGKILL);
        waitpid(set->child, NULL, 0);
    }
}

void wire_set_send(struct gw__wire *wire, unsigned peer,
                   const struct gw__header *header, const void *data, bool copy)
{
    uint64_t deadline = gw_now_ns() + patience_ns;
    enum gw_err err;
    while ((err = wire->ops->send(wire, peer, header, data, copy)) ==
           GW_PENDING) {
        ck_assert_msg(gw_now_ns() < deadline, "no room towards %u", peer);
        wire->ops->wait(wire, doze_ns);
    }
    ck_assert_msg(err == GW_OK, "send to %u: %s", peer, gw_err_name(err));
}

enum gw_err wire_set_await_from(struct gw__wire *sender, struct gw__wire *wire,
                                unsigned peer, struct gw__slice_view *view)
{
    uint64_t deadline = gw_now_ns() + patience_ns;
    uint64_t nap_ns = sender ? doze_ns / 20 : doze_ns;
    enum gw_err err;
    while ((err = wire->ops->peek(wire, peer, view)) == GW_PENDING &&
           gw_now_ns() < deadline) {
        if (sender)
            (void)sender->ops->sends_done(sender, wire->rank);
        wire->ops->wait(wire, nap_ns);
        (void)wire->ops->check(wire, NULL); /* as real callers do at times */
    }
    return err;
}

enum gw_err wire_set_await(struct gw__wire *wire, unsigned peer,
                           struct gw__slice_view *view)
{
    return wire_set_await_from(NULL, wire, peer, view);
}

enum gw_err wire_set_await_failure(struct gw__wire *wire, unsigned ms,
                                   struct gw_error *why)
{
    uint64_t deadline = gw_now_ns() + ms * 1000000ULL;
    enum gw_err err;
    while ((err = wire->ops->check(wire, why)) == GW_OK &&
           gw_now_ns() < deadline)
        wire->ops->wait(wire, doze_ns);
    return err;
}

bool wire_set_await_done(struct gw__wire *wire, unsigned peer, uint64_t count)
{
    uint64_t deadline = gw_now_ns() + patience_ns;
    while (wire->ops->sends_done(wire, peer) < count) {
        if (gw_now_ns() >= deadline)
            return false;
        wire->ops->wait(wire, doze_ns);
    }
    return true;
}

static unsigned char byte_at(size_t i, uint64_t seed)
{
    return (unsigned char)((i * 131 + (i >> 8) * 17 + seed * 29) & 0xff);
}

void wire_set_fill(void *data, size_t bytes, uint64_t seed)
{
    unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++)
        byte[i] = byte_at(i, seed);
}

bool wire_set_differs(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *byte = data;
    unsigned char difference = 0;
    for (size_t i = 0; i < bytes; i++)
        difference |= byte[i] ^ byte_at(i, seed);
    return difference != 0;
}
