/* SPDX-License-Identifier: MIT
 *
 * Crews of wires; see wire_crew.h.
 */
#include "wire_crew.h"

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
    "shm",       "ipc",       "tcp",         "quiet shm",  "quiet ipc",
    "quiet tcp", "rough shm", "rough ipc",   "rough tcp",  "keyed tcp",
    "keyed ipc", "verbs",     "quiet verbs", "rough verbs"};
static const uint64_t patience_ns = 10 * 1000000000ULL;
static const uint64_t doze_ns = 20 * 1000000ULL;

const char *crew_inner_name(const char *name)
{
    const char *space = strchr(name, ' ');
    return space ? space + 1 : name;
}

static bool is_chosen(const char *name)
{
    const char *chosen = getenv("GW_TEST_WIRES");
    if (!chosen)
        chosen = "shm,ipc,tcp";
    return strstr(chosen, crew_inner_name(name));
}

const char *crew_wire_name(int index)
{
    for (size_t i = 0; i < sizeof all_wires / sizeof *all_wires; i++)
        if (is_chosen(all_wires[i]) && index-- == 0)
            return all_wires[i];
    return NULL;
}

int crew_wire_count(void)
{
    int count = 0;
    while (crew_wire_name(count))
        count++;
    return count;
}

struct gw_comm_config crew_config(const char *name, unsigned rank,
                                  unsigned size)
{
    return (struct gw_comm_config){
        .rank = rank,
        .size = size,
        .wire = crew_inner_name(name),
        .insecure = strcmp(crew_inner_name(name), "verbs") == 0,
        .slice_bytes =
            size < CREW_MAX ? CREW_SLICE_BYTES : FULL_CREW_SLICE_BYTES};
}

/* One table for all ranks of the process, which is never freed. */
static struct gw__link_profiles *rules_for(const char *name)
{
    static struct gw__link_profiles *tables[2];
    static const struct gw__link_profile profile = {
        .delay_us = 150, .jitter_us = 150, .loss_ppm = 5000};
    bool rough = strncmp(name, "rough", 5) == 0;
    struct gw__link_profiles **table = &tables[rough];
    struct gw_error why;
    if (!*table) {
        ck_assert_int_eq(gw__link_profiles_new(7, table, &why), GW_OK);
        for (unsigned node = 0; rough && node < CREW_MAX; node++)
            gw__link_profiles_set(*table, node, &profile);
    }
    return *table;
}

/* All crews of the process share it; it has no name in a folder. */
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

struct gw__wire *crew_open(const char *name, unsigned rank, unsigned size,
                           unsigned lanes)
{
    static const unsigned nodes[CREW_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct gw_comm_config config = crew_config(name, rank, size);
    struct gw__wire *wire, *ruled;
    struct gw_error why;
    bool keyed = strncmp(name, "keyed", 5) == 0;
    config.lanes = lanes;
    config.key_file = keyed ? key_path() : NULL;
    enum gw_err err = gw__wire_open(&config, &wire, &why);
    if (!err && !keyed && crew_inner_name(name) != name) {
        err = gw__wire_emulated(&wire, rules_for(name), nodes, &ruled, &why);
        wire = ruled;
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

static void join_all(struct crew *crew)
{
    struct joiner joiners[CREW_MAX] = {0};
    for (unsigned r = 0; r < crew->size; r++) {
        joiners[r].wire = crew->wires[r];
        joiners[r].table = crew->table;
        if (crew->wires[r])
            pthread_create(&joiners[r].thread, NULL, join_one, &joiners[r]);
    }
    for (unsigned r = 0; r < crew->size; r++)
        if (crew->wires[r]) {
            pthread_join(joiners[r].thread, NULL);
            ck_assert_msg(joiners[r].err == GW_OK, "rank %u: %s", r,
                          joiners[r].why.text);
        }
}

void crew_start(struct crew *crew, const char *name, unsigned size,
                unsigned lanes)
{
    *crew = (struct crew){.name = name, .size = size};
    for (unsigned r = 0; r < size; r++) {
        crew->wires[r] = crew_open(name, r, size, lanes);
        crew->table[r] = crew->wires[r]->address;
    }
    join_all(crew);
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
static void live(struct crew *crew, int channel, crew_child body, void *context)
{
    unsigned rank = crew->child_rank;
    char ready = 1;
    struct gw_error why = {.text = "the crew is gone"};
    struct gw__wire *wire = crew_open(crew->name, rank, crew->size, 0);
    if (!pass_on(channel, true, &wire->address, sizeof wire->address) ||
        !pass_on(channel, false, crew->table, sizeof crew->table) ||
        wire->ops->connect(wire, crew->table, gw_now_ns() + patience_ns,
                           &why)) {
        fprintf(stderr, "child: %s\n", why.text);
        _exit(1);
    }
    body(wire, context);
    pass_on(channel, true, &ready, 1);
    for (;;)
        pause();
}

void crew_start_with_child(struct crew *crew, const char *name, unsigned size,
                           unsigned child_rank, crew_child body, void *context)
{
    int channel[2];
    char ready;
    *crew = (struct crew){.name = name, .size = size, .child_rank = child_rank};
    (void)key_path(); /* which the child has, too */
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
    crew->child = fork();
    if (crew->child == 0)
        live(crew, channel[1], body, context);
    for (unsigned r = 0; r < size; r++) {
        if (r == child_rank) {
            ck_assert(pass_on(channel[0], false, &crew->table[r],
                              sizeof *crew->table));
            continue;
        }
        crew->wires[r] = crew_open(name, r, size, 0);
        crew->table[r] = crew->wires[r]->address;
    }
    ck_assert(pass_on(channel[0], true, crew->table, sizeof crew->table));
    join_all(crew);
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

void crew_end(struct crew *crew)
{
    pthread_t threads[CREW_MAX];
    for (unsigned r = 0; r < crew->size; r++)
        pthread_create(&threads[r], NULL, close_one, &crew->wires[r]);
    for (unsigned r = 0; r < crew->size; r++)
        pthread_join(threads[r], NULL);
    if (crew->child) {
        kill(crew->child, SIGKILL);
        waitpid(crew->child, NULL, 0);
    }
}

void crew_send(struct gw__wire *wire, unsigned peer,
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

enum gw_err crew_await_from(struct gw__wire *sender, struct gw__wire *wire,
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

enum gw_err crew_await(struct gw__wire *wire, unsigned peer,
                       struct gw__slice_view *view)
{
    return crew_await_from(NULL, wire, peer, view);
}

enum gw_err crew_await_failure(struct gw__wire *wire, unsigned ms,
                               struct gw_error *why)
{
    uint64_t deadline = gw_now_ns() + ms * 1000000ULL;
    enum gw_err err;
    while ((err = wire->ops->check(wire, why)) == GW_OK &&
           gw_now_ns() < deadline)
        wire->ops->wait(wire, doze_ns);
    return err;
}

bool crew_await_done(struct gw__wire *wire, unsigned peer, uint64_t count)
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

void crew_fill(void *data, size_t bytes, uint64_t seed)
{
    unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++)
        byte[i] = byte_at(i, seed);
}

bool crew_differs(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *byte = data;
    unsigned char difference = 0;
    for (size_t i = 0; i < bytes; i++)
        difference |= byte[i] ^ byte_at(i, seed);
    return difference != 0;
}
