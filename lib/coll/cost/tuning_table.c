/* SPDX-License-Identifier: MIT
 *
 * Tuning rules: measured algorithms that are faster than the predicted one,
 * each for a collective, a number of ranks and a range of sizes
 * (gradwire-tuning(5); tuning_table_store.c writes them). A rule with an unknown
 * algorithm, or one that does not serve its number of ranks, is ignored.
 */
#include "tuning_table.h"
#include "plan/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool of_blocks(enum gw_collective collective)
{
    return collective == GW_GATHER || collective == GW_SCATTER ||
           collective == GW_ALLGATHER || collective == GW_REDUCE_SCATTER ||
           collective == GW_ALLTOALL;
}

uint64_t gw__tuning_table_bytes(enum gw_collective collective, unsigned ranks,
                                size_t count, size_t elem_bytes)
{
    uint64_t bytes = count, blocks = of_blocks(collective) ? ranks : 1;
    if (collective == GW_BARRIER)
        return 0;
    if (__builtin_mul_overflow(bytes, elem_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, blocks, &bytes))
        return UINT64_MAX;
    return bytes;
}

/* A non-negative integer. */
static bool read_whole(json_t *entry, const char *name, uint64_t *number)
{
    json_t *value = json_object_get(entry, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

static double read_time(json_t *entry, const char *name)
{
    double us = json_number_value(json_object_get(entry, name));
    return isfinite(us) && us > 0 ? us : 0;
}

static const struct gw_algo *read_algo(json_t *entry, const char *name,
                                       enum gw_collective collective)
{
    const char *text = json_string_value(json_object_get(entry, name));
    const struct gw_algo *algo = text ? gw_algo_find(collective, text) : NULL;
    return algo && !gw__algo_is_added(algo) ? algo : NULL;
}

bool gw__tuning_entry_read(json_t *entry, enum gw_collective collective,
                           struct gw_tuning_rule *rule)
{
    uint64_t ranks;
    *rule = (struct gw_tuning_rule){.collective = collective};
    rule->algo = read_algo(entry, "algo", collective);
    if (!rule->algo || !read_whole(entry, "ranks", &ranks) || ranks == 0 ||
        ranks > UINT32_MAX || !rule->algo->valid((unsigned)ranks))
        return false;
    if (!read_whole(entry, "from_bytes", &rule->from_bytes) ||
        !read_whole(entry, "to_bytes", &rule->to_bytes) ||
        rule->from_bytes > rule->to_bytes)
        return false;
    rule->ranks = (unsigned)ranks;
    rule->us = read_time(entry, "us");
    rule->instead_us = read_time(entry, "instead_us");
    rule->instead = read_algo(entry, "instead", collective);
    if (!read_whole(entry, "bytes", &rule->bytes))
        rule->us = rule->instead_us = 0;
    const char *date = json_string_value(json_object_get(entry, "tuning"));
    snprintf(rule->date, sizeof rule->date, "%s", date ? date : "");
    return true;
}

static json_t *tuning_rules_list(json_t *file, const char *wire,
                                 enum gw_collective collective)
{
    json_t *rules =
        json_object_get(json_object_get(file, "tuning_rules"), wire);
    return json_object_get(rules, gw_collective_name(collective));
}

void gw__tuning_table_of(json_t *file, const char *wire, unsigned ranks,
                         struct gw__tuning_table *tuning_table)
{
    memset(tuning_table, 0, sizeof *tuning_table);
    for (unsigned c = 0; c < GW_COLLECTIVES; c++) {
        json_t *list = tuning_rules_list(file, wire, (enum gw_collective)c);
        for (size_t i = 0; i < json_array_size(list); i++) {
            struct gw_tuning_rule rule;
            if (tuning_table->count < GW__TUNING_TABLE_MAX &&
                gw__tuning_entry_read(json_array_get(list, i),
                                      (enum gw_collective)c, &rule) &&
                rule.ranks == ranks)
                tuning_table->list[tuning_table->count++] =
                    (struct gw__tuning_entry){rule.from_bytes, rule.to_bytes,
                                              gw__algo_number(rule.algo)};
        }
    }
}

void gw__tuning_table_adopt(struct gw__tuning_table *tuning_table,
                            const struct gw__tuning_table *received)
{
    size_t algos;
    (void)gw_algo_list(&algos);
    memset(tuning_table, 0, sizeof *tuning_table);
    for (uint64_t i = 0; i < received->count && i < GW__TUNING_TABLE_MAX; i++)
        if (received->list[i].algo < algos)
            tuning_table->list[tuning_table->count++] = received->list[i];
}

const struct gw_algo *
gw__tuning_table_algo(const struct gw__tuning_table *tuning_table,
                      enum gw_collective collective, unsigned ranks,
                      size_t count, size_t elem_bytes)
{
    size_t algos;
    const struct gw_algo *const *list = gw_algo_list(&algos);
    uint64_t bytes =
        gw__tuning_table_bytes(collective, ranks, count, elem_bytes);
    for (uint64_t i = 0; i < tuning_table->count; i++) {
        const struct gw__tuning_entry *entry = &tuning_table->list[i];
        const struct gw_algo *algo = list[entry->algo];
        if (algo->collective == collective && bytes >= entry->from_bytes &&
            bytes <= entry->to_bytes && algo->valid(ranks))
            return algo;
    }
    return NULL;
}

bool gw_tuning_rule_find(const char *wire, enum gw_collective collective,
                         unsigned ranks, size_t count, size_t elem_bytes,
                         struct gw_tuning_rule *rule)
{
    uint64_t bytes =
        gw__tuning_table_bytes(collective, ranks, count, elem_bytes);
    json_t *file = gw__calibration_load();
    json_t *list = tuning_rules_list(file, wire, collective);
    bool found = false;
    for (size_t i = 0; i < json_array_size(list) && !found; i++)
        found =
            gw__tuning_entry_read(json_array_get(list, i), collective, rule) &&
            rule->ranks == ranks && bytes >= rule->from_bytes &&
            bytes <= rule->to_bytes;
    json_decref(file);
    return found;
}
