/* SPDX-License-Identifier: MIT
 *
 * Tables: each has a name, a number and a form, which the registry keeps with
 * the routes. Also finds the slot of a key.
 */
#include "route_parts.h"

#include <math.h>
#include <string.h>

static bool is_name(const char name[GW_PS_NAME_MAX])
{
    size_t length = strnlen(name, GW_PS_NAME_MAX);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return length > 0 && length < GW_PS_NAME_MAX;
}

static bool are_finite(const struct gw_ps_table_config *t)
{
    return isfinite(t->rate) && isfinite(t->momentum) && isfinite(t->beta1) &&
           isfinite(t->beta2) && isfinite(t->epsilon) && isfinite(t->beta) &&
           isfinite(t->l1) && isfinite(t->l2) && isfinite(t->init_range);
}

enum gw_err gw__route_check_table(const struct gw_ps_table_config *t,
                                  struct gw_error *why)
{
    if (!is_name(t->name))
        return gw_fail(
            why, GW_EINVAL,
            "a table's name must have 1 to %d characters and no blanks",
            GW_PS_NAME_MAX - 1);
    if (t->width == 0 || t->width > GW_PS_WIDTH_MAX)
        return gw_fail(why, GW_EINVAL,
                       "table %s: a row must have 1 to %d floats, not %u",
                       t->name, GW_PS_WIDTH_MAX, t->width);
    if (t->updater >= GW_PS_UPDATERS)
        return gw_fail(why, GW_EINVAL, "table %s: unknown updater %u", t->name,
                       t->updater);
    if (t->group >= GW_PS_GROUPS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "table %s: the group must be below %d, not %u", t->name,
                       GW_PS_GROUPS_MAX, t->group);
    if (!are_finite(t))
        return gw_fail(why, GW_EINVAL,
                       "table %s: a rate or range is not a finite number",
                       t->name);
    return GW_OK;
}

enum gw_err gw__routes_table(struct gw__routes *routes,
                             const struct gw_ps_table_config *config,
                             unsigned *table, struct gw_error *why)
{
    enum gw_err err = gw__route_check_table(config, why);
    unsigned at = 0;
    if (err)
        return err;
    if (routes->slot_count == 0)
        return gw_fail(why, GW_EINVAL, "there is no parameter server yet");
    while (at < routes->table_count &&
           strcmp(routes->tables[at].name, config->name) != 0)
        at++;
    const struct gw_ps_table_config *there = &routes->tables[at];
    if (at == GW_PS_TABLES_MAX)
        return gw_fail(why, GW_ENOMEM, "there are %d tables already",
                       GW_PS_TABLES_MAX);
    if (at == routes->table_count) {
        routes->tables[routes->table_count++] = *config;
        routes->tables[at].reserved = 0;
        routes->version++;
    } else if (there->width != config->width ||
               there->updater != config->updater ||
               there->dense != config->dense) {
        return gw_fail(why, GW_EMISMATCH,
                       "table %s exists already, with %u floats per row, "
                       "updater %u and %u dense rows",
                       there->name, there->width, there->updater, there->dense);
    }
    *table = at;
    return GW_OK;
}

/* splitmix64's mixer: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t mixed(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
    key = (key ^ key >> 27) * 0x94d049bb133111eb;
    return key ^ key >> 31;
}

unsigned gw__route_slot(const struct gw__routes *routes,
                        const struct gw_ps_table_config *table, uint64_t key)
{
    uint64_t slots = routes->slot_count;
    if (!table->dense)
        return (unsigned)((mixed(key) >> 32) * slots >> 32);
    if (key >= table->dense)
        key = table->dense - 1;
    return (unsigned)(key * slots / table->dense);
}
