/* SPDX-License-Identifier: MIT
 *
 * Creates, splits and destroys communicators. A communicator owns one wire. A
 * split makes new ones, whose addresses travel through the parent, so that
 * calls of different communicators never block each other.
 */
#include "coll/cost/calibration.h"

#include "base/log.h"
#include "coll/window/private_memory.h"

#include "wire/rendezvous/rendezvous.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 30000, SLICE_MAX = 1 << 30 };

enum gw_err gw__comm_check_shape(const struct gw_comm_config *config,
                                 struct gw_error *why)
{
    if (config->size == 0 || config->size > GW__WIRE_PEERS_MAX)
        return gw_fail(why, GW_EINVAL, "a communicator must have 1 to %d ranks",
                       GW__WIRE_PEERS_MAX);
    if (config->rank >= config->size)
        return gw_fail(why, GW_EINVAL,
                       "rank %u: there are only %u ranks, numbered from 0",
                       config->rank, config->size);
    if (config->slice_bytes % 64 || config->slice_bytes > SLICE_MAX)
        return gw_fail(
            why, GW_EINVAL,
            "the slice size must be a multiple of 64 bytes and at most 1 GiB");
    return GW_OK;
}

static enum gw_err check_config(const struct gw_comm_config *config,
                                struct gw_error *why)
{
    enum gw_err err = gw__comm_check_shape(config, why);
    if (err)
        return err;
    const char *rendezvous = config->rendezvous;
    if (!rendezvous && config->size > 1)
        return gw_fail(why, GW_EINVAL, "the rendezvous endpoint is missing");
    bool guarded = config->key_file || config->insecure;
    if (!guarded && rendezvous && gw__rendezvous_is_open(rendezvous))
        return gw_fail(why, GW_EINVAL,
                       "the rendezvous %.80s is open to the network; give a "
                       "key file, or allow it with --insecure",
                       rendezvous);
    return GW_OK;
}

/* Copies the strings of the configuration that a later split also needs. */
static bool keep_strings(struct gw_comm *comm)
{
    struct gw_comm_config *config = &comm->config;
    if (config->interface)
        comm->interface = strdup(config->interface);
    if (config->key_file)
        comm->key_file = strdup(config->key_file);
    bool kept = !config->interface == !comm->interface &&
                !config->key_file == !comm->key_file;
    config->interface = comm->interface;
    config->key_file = comm->key_file;
    return kept;
}

struct gw_comm *gw__comm_new(const struct gw_comm_config *config)
{
    size_t n = config->size;
    struct gw_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->config = *config;
    comm->rank = config->rank;
    comm->size = config->size;
    comm->timeout_ns =
        (config->timeout_ms ? config->timeout_ms : GW__TIMEOUT_MS) * 1000000ULL;
    comm->p2p_sends = calloc(n, sizeof *comm->p2p_sends);
    comm->p2p_recvs = calloc(n, sizeof *comm->p2p_recvs);
    comm->p2p_programs = calloc(2 * n, sizeof(struct gw__program *));
    comm->pushes = calloc(n, sizeof *comm->pushes);
    comm->counters = calloc(n, sizeof *comm->counters);
    comm->out_blocked = calloc(n, sizeof(bool));
    comm->in_blocked = calloc(n, sizeof(bool));
    comm->reduce_sources = calloc(n + 1, sizeof(void *));
    comm->reduce_dests = calloc(n + 1, sizeof(void *));
    comm->control_blocks = calloc(n, sizeof *comm->control_blocks);
    bool kept = keep_strings(comm);
    if (kept && comm->p2p_sends && comm->p2p_recvs && comm->p2p_programs &&
        comm->pushes && comm->counters && comm->out_blocked &&
        comm->in_blocked && comm->reduce_sources && comm->reduce_dests &&
        comm->control_blocks)
        return comm;
    gw_comm_destroy(&comm);
    return NULL;
}

/* The shapes of all ranks are the same; costs and rules are those of rank 0, so
 * that all choose the same algorithms. The file's rules for shared memory only
 * hold with windows. */
static enum gw_err agree_on_costs(struct gw_comm *comm, struct gw_error *why)
{
    bool measured;
    struct {
        struct gw_wire_costs costs;
        struct gw__tuning_table tuning_table;
    } known = {.tuning_table.count = 0};
    json_t *file = comm->rank == 0 ? gw__calibration_load() : NULL;
    gw__costs_of(file, comm->wire_name, comm->size, &known.costs, &measured);
    if (comm->windows || strcmp(comm->wire_name, "shm") != 0)
        gw__tuning_table_of(file, comm->wire_name, comm->size,
                            &known.tuning_table);
    json_decref(file);
    comm->costs = known.costs;
    struct gw_call call = {.collective = GW_BROADCAST,
                           .in = &known,
                           .out = comm->rank == 0 ? NULL : &known,
                           .count = sizeof known,
                           .type = GW_U8,
                           .algo = "binomial"};
    enum gw_err err = gw_run(comm, &call);
    if (err)
        gw_fail(why, err, "exchanging the cost models: %s", comm->error.text);
    comm->costs = known.costs;
    gw__tuning_table_adopt(&comm->tuning_table, &known.tuning_table);
    gw_comm_counters_reset(comm);
    return err;
}

void gw__comm_adopt_wire(struct gw_comm *comm)
{
    const struct gw__wire_ops *ops = comm->wire->ops;
    size_t n = strnlen(ops->name, sizeof comm->wire_name - 1);
    memcpy(comm->wire_name, ops->name, n);
    comm->wire_name[n] = 0;
    comm->config.wire = comm->wire_name;
    comm->slice_bytes =
        comm->config.slice_bytes ? comm->config.slice_bytes : ops->slice_bytes;
    if (ops->windows && !comm->config.no_windows)
        comm->windows = ops->windows(comm->wire);
    for (unsigned r = 0; comm->windows && r < comm->size; r++)
        comm->control_blocks[r] = comm->windows->control_block(comm->wire, r);
}

/* Turns a connected wire into a usable communicator. */
static enum gw_err make_usable(struct gw_comm *comm, struct gw_error *why)
{
    gw__comm_adopt_wire(comm);
    comm->last_progress_ns = gw_now_ns();
    comm->copies_from = SIZE_MAX;
    enum gw_err err = agree_on_costs(comm, why);
    comm->copies_from = gw__private_memory_from(comm);
    return err;
}

enum gw_err gw_comm_create(const struct gw_comm_config *config,
                           struct gw_comm **made, struct gw_error *why)
{
    *made = NULL;
    enum gw_err err = check_config(config, why);
    if (err)
        return err;
    struct gw_comm *comm = gw__comm_new(config);
    struct gw__address *table = calloc(config->size, sizeof *table);
    unsigned connect_ms = config->connect_ms ? config->connect_ms : CONNECT_MS;
    uint64_t deadline = gw_now_ns() + connect_ms * 1000000ULL;
    if (!comm || !table) {
        err = gw_fail(why, GW_ENOMEM, "communicator of %u", config->size);
        goto out;
    }
    err = gw__wire_open(&comm->config, &comm->wire, why);
    if (err)
        goto out;
    assert(comm->wire);
    err = gw__rendezvous_with_key(config->rendezvous, config->key_file,
                                  config->rank, config->size,
                                  &comm->wire->address, table, connect_ms, why);
    if (!err)
        err = comm->wire->ops->connect(comm->wire, table, deadline, why);
    if (!err)
        err = make_usable(comm, why);
out:
    free(table);
    if (err) {
        gw_wrap(why, err, "rank %u", config->rank);
        gw_comm_destroy(&comm);
        return err;
    }
    assert(comm);
    comm->config.rendezvous = NULL; /* owned by the caller; not needed any
                                       more */
    gw__log_info("coll", "rank %u of %u: communicator over %s", comm->rank,
                 comm->size, comm->wire_name);
    *made = comm;
    return GW_OK;
}

/* The message of a rank to its parent communicator in a split. */
struct ticket {
    int32_t color, key;
    struct gw__address address;
    uint32_t failed;
};

static enum gw_err exchange(struct gw_comm *comm, const struct ticket *mine,
                            struct ticket *all, struct gw_error *why)
{
    enum gw_err err = gw_allgather(comm, mine, all, sizeof *mine, GW_U8);
    if (err)
        gw_fail(why, err, "split: %s", comm->error.text);
    return err;
}

/* Place of `rank` among the ranks of its color, ordered by key, then rank. */
static unsigned rank_in_color(const struct ticket *all, unsigned ranks,
                              unsigned rank, unsigned *members)
{
    unsigned place = 0;
    *members = 0;
    for (unsigned r = 0; r < ranks; r++) {
        if (all[r].color != all[rank].color)
            continue;
        (*members)++;
        place += all[r].key < all[rank].key ||
                 (all[r].key == all[rank].key && r < rank);
    }
    return place;
}

static enum gw_err join_group(struct gw_comm *parent, struct gw_comm *comm,
                              const struct ticket *all, struct gw_error *why)
{
    struct gw__address *table = calloc(comm->size, sizeof *table);
    unsigned members;
    if (!table)
        return gw_fail(why, GW_ENOMEM, "split");
    for (unsigned r = 0; r < parent->size; r++)
        if (all[r].color == all[parent->rank].color)
            table[rank_in_color(all, parent->size, r, &members)] =
                all[r].address;
    enum gw_err err = comm->wire->ops->connect(
        comm->wire, table, gw_now_ns() + CONNECT_MS * 1000000ULL, why);
    free(table);
    return err ? err : make_usable(comm, why);
}

static enum gw_err split(struct gw_comm *parent, int color, int key,
                         struct ticket *all, struct gw_comm **sub,
                         struct gw_error *why)
{
    struct ticket mine = {.color = color, .key = key};
    struct gw_comm *comm = NULL;
    unsigned members;
    enum gw_err err = exchange(parent, &mine, all, why);
    if (err)
        return err;
    struct gw_comm_config config = parent->config;
    config.rank = rank_in_color(all, parent->size, parent->rank, &members);
    config.size = members;
    /* From here on a failure is reported to the other ranks, which wait for
     * this one. */
    enum gw_err own = GW_OK;
    if (color >= 0) {
        comm = gw__comm_new(&config);
        own = comm ? gw__wire_open(&comm->config, &comm->wire, why)
                   : gw_fail(why, GW_ENOMEM, "split");
        if (!own) {
            assert(comm && comm->wire);
            mine.address = comm->wire->address;
        }
    }
    mine.failed = own != GW_OK;
    err = exchange(parent, &mine, all, why);
    for (unsigned r = 0; !err && !own && color >= 0 && r < parent->size; r++)
        if (all[r].color == color && all[r].failed)
            err = gw_fail(why, GW_ELOST, "split: rank %u failed", r);
    if (!err)
        err = own;
    if (!err && comm)
        err = join_group(parent, comm, all, why);
    if (err)
        gw_comm_destroy(&comm);
    *sub = comm;
    return err;
}

enum gw_err gw_comm_split(struct gw_comm *comm, int color, int key,
                          struct gw_comm **sub, struct gw_error *why)
{
    struct gw_error reason = {0};
    *sub = NULL;
    struct ticket *all = calloc(comm->size, sizeof *all);
    if (!all) { /* the others must not wait for us */
        gw_fail(&reason, GW_ENOMEM, "split: rank %u", comm->rank);
        gw__comm_fail(comm, &reason);
        return gw_fail(why, reason.code, "%s", reason.text);
    }
    enum gw_err err = split(comm, color, key, all, sub, &reason);
    free(all);
    if (err && why)
        *why = reason;
    return err;
}

/* Peers may be reading the buffers of calls that will never end. Those of an
 * elastic communicator learn its end from the next view. */
static void abandon_calls(struct gw_comm *comm)
{
    struct gw_error error;
    bool moved;
    if (comm->nodes)
        return;
    if (comm->active)
        (void)gw__progress(comm, &moved); /* some may have ended meanwhile */
    const struct gw_request *r = comm->active;
    while (r && r->state == GW__DONE)
        r = r->next;
    if (!r || comm->error.code)
        return;
    gw_fail(&error, GW_ECLOSED,
            "rank %u closed its communicator before op %u was complete",
            comm->rank, r->op);
    gw__comm_fail(comm, &error);
}

void gw_comm_destroy(struct gw_comm **made)
{
    struct gw_comm *comm = *made;
    if (!comm)
        return;
    gw__progress_group_unlink(comm);
    abandon_calls(comm);
    gw__wire_close(&comm->wire);
    gw__requests_fini(comm);
    gw__prepared_forget(comm);
    gw__scratch_fini(comm);
    gw__cache_fini(comm);
    for (unsigned i = 0; comm->p2p_programs && i < 2 * comm->size; i++)
        gw__program_destroy(&comm->p2p_programs[i]);
    free(comm->p2p_programs);
    free(comm->p2p_sends);
    free(comm->p2p_recvs);
    free(comm->pushes);
    free(comm->counters);
    free(comm->out_blocked);
    free(comm->in_blocked);
    free(comm->reduce_sources);
    free(comm->reduce_dests);
    free(comm->control_blocks);
    free(comm->nodes);
    free(comm->interface);
    free(comm->key_file);
    free(comm);
    *made = NULL;
}

unsigned gw_comm_rank(const struct gw_comm *comm)
{
    return comm->rank;
}

unsigned gw_comm_size(const struct gw_comm *comm)
{
    return comm->size;
}

const char *gw_comm_wire(const struct gw_comm *comm)
{
    return comm->wire_name;
}

const struct gw_error *gw_comm_error(const struct gw_comm *comm)
{
    return &comm->error;
}

void gw_comm_counters(const struct gw_comm *comm, unsigned peer,
                      struct gw_counters *counters)
{
    *counters = comm->counters[peer];
    gw__prepared_count(comm, peer, counters);
}

void gw_comm_counters_reset(struct gw_comm *comm)
{
    memset(comm->counters, 0, comm->size * sizeof *comm->counters);
    gw__prepared_reset_counts(comm);
}
