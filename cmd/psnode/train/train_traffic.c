/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The traffic of a training, and its balance: pulled keys and the model's keys,
 * bytes, messages, and the largest shares of a server and of a slot. If a slot
 * has more than a server's fair share of the requests, no placement can balance
 * it.
 */
#include "train.h"

#include "common/command.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_keys(struct output *o, const json_t *status)
{
    size_t i;
    const json_t *node;
    int64_t model = 0, items = train_sum(status, "worker", "items");
    int64_t pulled = train_sum(status, "worker", "pull_keys");
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (integer_of(node, "model_keys", 0) > model)
            model = integer_of(node, "model_keys", 0);
    }
    double each = items ? (double)pulled / (double)items : (double)NAN;
    train_fact(o, "keys_pulled", (double)pulled,
               "%" PRId64 ", %.0f per work item: %.2f %% of the model", pulled,
               each, 100 * each / (double)model);
    output_note_integer(o, "model_keys", model);
}

static void put_bytes(struct output *o, const json_t *status)
{
    static const char *const names[][2] = {
        {"bytes_received", "bytes_received"},
        {"keys_pushed", "push_keys"},
        {"rows_held_back", "rows_held_back"},
        {"key_lists_sent", "key_lists_sent"},
        {"key_lists_cached", "key_lists_cached"},
        {"bytes_gathered", "bytes_gathered"},
        {"retries", "retries"},
    };
    int64_t sent = train_sum(status, "worker", "bytes_sent");
    train_fact(o, "bytes_sent", (double)sent,
               "%" PRId64 " by workers, and %" PRId64 " in replies", sent,
               train_sum(status, "worker", "bytes_received"));
    for (size_t i = 0; i < sizeof names / sizeof *names && !train_is_table();
         i++)
        output_note_integer(o, names[i][0],
                            train_sum(status, "worker", names[i][1]));
}

/* With aggregate=1. */
static void put_aggregator(struct output *o, const json_t *status)
{
    int64_t sent = train_sum(status, "worker", "aggregator_sent");
    int64_t saved = train_sum(status, "worker", "aggregator_saved");
    if (sent)
        train_fact(o, "aggregator_sent", (double)sent,
                   "%" PRId64 " by the aggregator, %" PRId64
                   " saved across processes",
                   sent, saved);
    if (sent && !train_is_table())
        output_note_integer(o, "aggregator_saved", saved);
}

/* Without coalescing, the saved messages would have been sent as well. */
static void put_messages(struct output *o, const json_t *status)
{
    static const char *const roles[] = {"worker", "server"};
    static const char *const names[][2] = {
        {"messages_sent", "messages_saved"},
        {"server_messages_sent", "server_messages_saved"}};
    for (unsigned r = 0; r < 2; r++) {
        int64_t sent = train_sum(status, roles[r], "messages_sent");
        int64_t saved = train_sum(status, roles[r], "messages_saved");
        train_fact(o, names[r][0], (double)sent,
                   "%" PRId64 " by %ss, %" PRId64 " saved by coalescing", sent,
                   roles[r], saved);
        if (!train_is_table())
            output_note_integer(o, names[r][1], saved);
    }
    put_aggregator(o, status);
    int64_t in_place = train_sum(status, "worker", "bytes_in_place");
    train_fact(o, "bytes_in_place", (double)in_place,
               "%" PRId64 " of workers' bytes were not copied", in_place);
}

/* For models that train on the rows of a file. */
static void put_data(struct output *o, const json_t *status)
{
    int64_t sum = train_sum(status, "worker", "data_bytes_read"), most = 0;
    size_t i;
    const json_t *node;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (integer_of(node, "data_bytes_read", 0) > most)
            most = integer_of(node, "data_bytes_read", 0);
    }
    if (!sum)
        return;
    train_fact(o, "data_bytes_read", (double)sum,
               "%" PRId64 " of rows, %" PRId64 " by the worker that read most",
               sum, most);
    if (!train_is_table())
        output_note_integer(o, "data_bytes_most", most);
}

/* With ask-routes=1. */
static void put_routes(struct output *o, const json_t *status)
{
    int64_t queries = train_sum(status, "worker", "routes_requested");
    double us = (double)train_sum(status, "worker", "routes_ns") / 1e3;
    if (queries)
        train_fact(o, "routes_requested", (double)queries,
                   "%" PRId64 ", %.0f us each", queries, us / (double)queries);
    if (queries && !train_is_table())
        output_note_real(o, "routes_us", us / (double)queries);
}

/* With hogwild=1. */
static void put_writes(struct output *o, const json_t *status)
{
    size_t i;
    const json_t *point;
    int64_t writes = 0, lost = 0;
    json_array_foreach(json_object_get(status, "curve"), i, point)
    {
        writes += integer_of(point, "row_writes", 0);
        lost += integer_of(point, "row_writes_lost", 0);
    }
    if (!writes)
        return;
    train_fact(o, "row_writes", (double)writes,
               "%" PRId64 " by threads without locks, %" PRId64
               " lost: %.4f %%",
               writes, lost, 100 * (double)lost / (double)writes);
    if (!train_is_table())
        output_note_integer(o, "row_writes_lost", lost);
}

/* ---- shares ---- */

static int64_t server_keys(const json_t *node)
{
    if (strcmp(text_of(node, "role", ""), "server") != 0)
        return 0;
    return integer_of(node, "pull_keys", 0) + integer_of(node, "push_keys", 0);
}

static int64_t slot_keys(const json_t *slot)
{
    return integer_of(slot, "keys", 0);
}

/* The largest of a list, as a share of the sum, and its number. NaN: all are 0.
 */
static double largest_share(const json_t *list, int64_t (*keys)(const json_t *),
                            const char *number, int64_t *who)
{
    size_t i;
    const json_t *one;
    int64_t sum = 0, most = 0;
    *who = 0;
    json_array_foreach(list, i, one)
    {
        int64_t now = keys(one);
        sum += now;
        if (now <= most)
            continue;
        most = now;
        *who = integer_of(one, number, 0);
    }
    return sum ? (double)most / (double)sum : (double)NAN;
}

static void put_hottest(struct output *o, const json_t *status)
{
    int64_t server, slot;
    double of_servers = largest_share(json_object_get(status, "nodes"),
                                      server_keys, "node", &server);
    double of_slots = largest_share(json_object_get(status, "slots"), slot_keys,
                                    "slot", &slot);
    if (!isfinite(of_servers) || !isfinite(of_slots))
        return;
    train_fact(o, "hottest_server_share", of_servers,
               "%.4f of all keys, on server %" PRId64, of_servers, server);
    train_fact(o, "hottest_slot_share", of_slots,
               "%.4f of all keys, in slot %" PRId64, of_slots, slot);
}

void train_traffic(struct output *output, const json_t *status)
{
    put_keys(output, status);
    put_bytes(output, status);
    put_messages(output, status);
    put_data(output, status);
    put_routes(output, status);
    put_writes(output, status);
    put_hottest(output, status);
}
