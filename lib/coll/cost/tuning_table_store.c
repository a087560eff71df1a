/* SPDX-License-Identifier: MIT
 *
 * Writes tuning rules. A list is ordered by ranks, then sizes, and no two of
 * its rules overlap: a new rule takes its range from the old ones, which keep
 * the parts on both sides. Each rule names the tuning run that measured it.
 * Tuning runs that no rule names are removed, except the newest.
 */
#include "tuning_table.h"

#include <string.h>

static json_t *whole(uint64_t number)
{
    return json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number);
}

static json_t *tuning_rule_json(const struct gw_tuning_rule *rule,
                                const char *date)
{
    json_t *entry = json_object();
    json_object_set_new(entry, "ranks", json_integer(rule->ranks));
    json_object_set_new(entry, "from_bytes", whole(rule->from_bytes));
    json_object_set_new(entry, "to_bytes", whole(rule->to_bytes));
    json_object_set_new(entry, "algo", json_string(rule->algo->name));
    json_object_set_new(entry, "tuning", json_string(date));
    if (!rule->instead)
        return entry;
    json_object_set_new(entry, "bytes", whole(rule->bytes));
    json_object_set_new(entry, "us", json_real(rule->us));
    json_object_set_new(entry, "instead", json_string(rule->instead->name));
    json_object_set_new(entry, "instead_us", json_real(rule->instead_us));
    return entry;
}

/* Ends entry `at` before `fresh` begins; a copy begins after `fresh`. */
static void split_entry(json_t *list, size_t at,
                        const struct gw_tuning_rule *old,
                        const struct gw_tuning_rule *fresh)
{
    json_t *entry = json_array_get(list, at);
    if (old->to_bytes > fresh->to_bytes) {
        json_t *right = json_copy(entry);
        json_object_set_new(right, "from_bytes", whole(fresh->to_bytes + 1));
        json_array_insert_new(list, at + 1, right);
    }
    if (old->from_bytes < fresh->from_bytes)
        json_object_set_new(entry, "to_bytes", whole(fresh->from_bytes - 1));
    else
        json_array_remove(list, at);
}

/* Removes the range of `fresh` from all rules for the same number of ranks. */
static void clear_range(json_t *list, const struct gw_tuning_rule *fresh)
{
    for (size_t at = json_array_size(list); at-- > 0;) {
        struct gw_tuning_rule old;
        if (gw__tuning_entry_read(json_array_get(list, at), fresh->collective,
                                  &old) &&
            old.ranks == fresh->ranks && old.from_bytes <= fresh->to_bytes &&
            old.to_bytes >= fresh->from_bytes)
            split_entry(list, at, &old, fresh);
    }
}

static void insert(json_t *list, const struct gw_tuning_rule *fresh,
                   const char *date)
{
    size_t at = 0;
    for (; at < json_array_size(list); at++) {
        struct gw_tuning_rule old;
        if (gw__tuning_entry_read(json_array_get(list, at), fresh->collective,
                                  &old) &&
            (old.ranks > fresh->ranks ||
             (old.ranks == fresh->ranks && old.from_bytes > fresh->from_bytes)))
            break;
    }
    json_array_insert_new(list, at, tuning_rule_json(fresh, date));
}

static void put_tuning_rule(json_t *wire, const struct gw_tuning_rule *fresh,
                            const char *date)
{
    const char *name = gw_collective_name(fresh->collective);
    if (!json_is_array(json_object_get(wire, name)))
        json_object_set_new(wire, name, json_array());
    json_t *list = json_object_get(wire, name);
    clear_range(list, fresh);
    if (fresh->algo)
        insert(list, fresh, date);
}

static bool names(json_t *rules, const char *date)
{
    const char *wire, *collective;
    json_t *lists, *list;
    json_object_foreach(rules, wire, lists)
    {
        json_object_foreach(lists, collective, list)
        {
            for (size_t i = 0; i < json_array_size(list); i++) {
                const char *from = json_string_value(
                    json_object_get(json_array_get(list, i), "tuning"));
                if (from && strcmp(from, date) == 0)
                    return true;
            }
        }
    }
    return false;
}

static void keep_tunings(json_t *file, const char *wire,
                         const struct gw_tuning *tuning)
{
    json_t *tunings = gw__calibration_member(file, "tunings"), *entry;
    const char *date;
    void *next;
    json_object_foreach_safe(tunings, next, date, entry)
    {
        if (!names(json_object_get(file, "tuning_rules"), date))
            json_object_del(tunings, date);
    }
    entry = json_object();
    json_object_set_new(entry, "wire", json_string(wire));
    json_object_set_new(entry, "cpu", json_string(tuning->cpu));
    json_object_set_new(entry, "cores", json_integer(tuning->cores));
    json_object_set_new(entry, "versions", json_string(tuning->versions));
    json_object_set_new(entry, "seed", whole(tuning->seed));
    json_object_set_new(entry, "runs", json_integer(tuning->runs));
    json_object_set_new(tunings, tuning->date, entry);
}

enum gw_err gw_tuning_rules_store(const char *wire,
                                  const struct gw_tuning *tuning,
                                  const struct gw_tuning_rule *rules,
                                  size_t count, struct gw_error *why)
{
    json_t *file;
    enum gw_err err = gw__calibration_edit(&file, why);
    if (err)
        return err;
    json_t *lists = gw__calibration_member(
        gw__calibration_member(file, "tuning_rules"), wire);
    for (size_t i = 0; i < count; i++)
        put_tuning_rule(lists, &rules[i], tuning->date);
    keep_tunings(file, wire, tuning);
    return gw__calibration_save(file, why);
}
