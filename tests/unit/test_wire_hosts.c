/* SPDX-License-Identifier: MIT
 *
 * Ranks of tcp on several hosts: their connections, and which algorithm a
 * communicator chooses. The hosts are made up: the addresses of the ranks say
 * that they are in different networks.
 */
#include "coll/comm.h"
#include "must.h"
#include "ranks.h"
#include "wire/socket/socket_wire.h"
#include "wire_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

Suite *suite_wire_hosts(void);

enum { RANKS = 6 };

struct joiner {
    struct gw__wire *wire;
    const struct gw__address *table;
    pthread_t thread;
    enum gw_err err;
    struct gw_error why;
};

static void *join_one(void *context)
{
    struct joiner *joiner = context;
    joiner->err = joiner->wire->ops->connect(
        joiner->wire, joiner->table, gw_now_ns() + 10000000000U, &joiner->why);
    return NULL;
}

/* `networks`: a digit per rank. */
static void start(struct wire_set *set, const char *name, const char *networks)
{
    struct joiner joiners[RANKS] = {0};
    *set = (struct wire_set){.name = name, .size = (unsigned)strlen(networks)};
    for (unsigned r = 0; r < set->size; r++) {
        struct gw__socket_address address;
        set->wires[r] = wire_set_open(name, r, set->size, 0);
        set->table[r] = set->wires[r]->address;
        memcpy(&address, set->table[r].blob, sizeof address);
        address.network = (uint64_t)(networks[r] - '0');
        memcpy(set->table[r].blob, &address, sizeof address);
    }
    for (unsigned r = 0; r < set->size; r++) {
        joiners[r].wire = set->wires[r];
        joiners[r].table = set->table;
        pthread_create(&joiners[r].thread, NULL, join_one, &joiners[r]);
    }
    for (unsigned r = 0; r < set->size; r++) {
        pthread_join(joiners[r].thread, NULL);
        ck_assert_msg(!joiners[r].err, "%s", joiners[r].why.text);
    }
}

static int family_of(int fd)
{
    int family = 0;
    socklen_t bytes = sizeof family;
    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes), 0);
    return family;
}

static void exchange(struct wire_set *set, unsigned from, unsigned to)
{
    enum { BYTES = 200000 };
    struct gw__header header = {.bytes = BYTES};
    struct gw__slice_view view;
    unsigned char *data = malloc(BYTES);
    wire_set_fill(data, BYTES, from);
    wire_set_send(set->wires[from], to, &header, data, false);
    ck_assert_int_eq(
        wire_set_await_from(set->wires[from], set->wires[to], from, &view),
        GW_OK);
    ck_assert(!wire_set_differs(view.data, BYTES, from));
    set->wires[to]->ops->release(set->wires[to], from);
    free(data);
}

static const struct {
    const char *name, *networks;
    unsigned host_ranks;
} hosts[] = {
    {"tcp", "111111", 0},       /* one host */
    {"tcp", "112233", 2},       /* three */
    {"keyed tcp", "111222", 3}, /* two */
    {"tcp", "123456", 0},       /* one rank each */
    {"tcp", "121212", 0},       /* ranks in turns */
    {"tcp", "111223", 0},       /* of different sizes */
    {"tcp", "112211", 0},       /* not in a row */
    {"tcp", "112200", 0},       /* unknown */
    {"ipc", "112233", 0},       /* always local */
};
enum { HOSTS = sizeof hosts / sizeof *hosts };

static bool is_local(const char *networks, unsigned a, unsigned b)
{
    bool spread = strspn(networks, (char[]){networks[0], 0}) < RANKS;
    return spread && networks[a] == networks[b] && networks[a] != '0';
}

START_TEST(ranks_of_a_host_use_unix_sockets)
{
    struct wire_set set;
    bool ipc = strcmp(hosts[_i].name, "ipc") == 0;
    start(&set, hosts[_i].name, hosts[_i].networks);
    for (unsigned r = 0; r < RANKS; r++) {
        struct gw__socket *s = gw__socket_of(set.wires[r]);
        ck_assert_uint_eq(set.wires[r]->host_ranks, hosts[_i].host_ranks);
        for (unsigned peer = 0; peer < RANKS; peer++) {
            if (peer == r)
                continue;
            int family = ipc || is_local(hosts[_i].networks, r, peer) ? AF_UNIX
                                                                      : AF_INET;
            ck_assert_int_eq(family_of(s->links[peer].lanes[0].fd), family);
            ck_assert_int_eq(family_of(s->links[peer].control_fd), family);
            exchange(&set, r, peer);
        }
    }
    wire_set_end(&set);
}
END_TEST

/* ---- the algorithm ---- */

enum { LARGE = 20000, SMALL = 10 };

static void check_choice(struct gw_comm *comm, struct gw_call call,
                         bool hierarchical)
{
    struct gw_call chosen = gw__call_for_hosts(comm, &call);
    MUST((chosen.algo && strcmp(chosen.algo, "hierarchical") == 0) ==
         hierarchical);
    MUST(chosen.group == (hierarchical ? 2 : call.group));
}

static void choose(struct gw_comm *comm, void *context)
{
    (void)context;
    struct gw_call call = {
        .collective = GW_ALLREDUCE, .count = LARGE, .type = GW_F32};
    check_choice(comm, call, false);
    comm->wire->host_ranks = 2;
    check_choice(comm, call, true);
    call.count = SMALL;
    check_choice(comm, call, false);
    call.count = LARGE;
    call.group = 3;
    check_choice(comm, call, false);
    call.group = 0;
    call.algo = "ring";
    struct gw_call named = gw__call_for_hosts(comm, &call);
    MUST(strcmp(named.algo, "ring") == 0);
    call.algo = NULL;
    call.collective = GW_BROADCAST;
    check_choice(comm, call, false);
    call.collective = GW_ALLGATHER;
    check_choice(comm, call, true);
    size_t counts[RANKS] = {LARGE, 0, LARGE, 0, 0, 0};
    call.counts = counts;
    call.count = 0;
    check_choice(comm, call, true);
}

/* The sum of large buffers by the hosts' algorithm. */
static void add_up(struct gw_comm *comm, void *context)
{
    (void)context;
    choose(comm, NULL);
    int32_t *numbers = malloc(LARGE * sizeof *numbers);
    for (unsigned round = 0; round < 3; round++) {
        for (int32_t i = 0; i < LARGE; i++)
            numbers[i] = i * (int32_t)(gw_comm_rank(comm) + 1);
        MUST(gw_allreduce(comm, GW_IN_PLACE, numbers, LARGE, GW_I32, GW_SUM) ==
             0);
        for (int32_t i = 0; i < LARGE; i++)
            MUST(numbers[i] == i * RANKS * (RANKS + 1) / 2);
    }
    free(numbers);
}

START_TEST(large_buffers_cross_between_hosts_once)
{
    struct gw_comm_config config = {.wire = "tcp"};
    run_ranks(&config, RANKS, add_up, NULL);
}
END_TEST

Suite *suite_wire_hosts(void)
{
    Suite *suite = suite_create("wire_hosts");
    TCase *tests = tcase_create("hosts");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, ranks_of_a_host_use_unix_sockets, 0, HOSTS);
    tcase_add_test(tests, large_buffers_cross_between_hosts_once);
    suite_add_tcase(suite, tests);
    return suite;
}
