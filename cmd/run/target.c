/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See target.h.
 */
#include "target.h"

#include "run/node/child_channel.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roles[ROLES] = {"worker", "server", "controller"};

const char *role_name(enum role role)
{
    assert(role < ROLES);
    return roles[role];
}

/* ROLES: an unknown role. */
static enum role role_parse(const char *text)
{
    unsigned role = 0;
    while (role < ROLES && strcmp(text, roles[role]) != 0)
        role++;
    return (enum role)role;
}

static bool parse_number(const char *text, int *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    unsigned long value = strtoul(text, &end, 10);
    *number = (int)(value < TARGET_NODE_MAX ? value : TARGET_NODE_MAX);
    return !*end && value <= TARGET_NODE_MAX;
}

enum gw_err target_parse(const char *text, struct target *target,
                         struct gw_error *why)
{
    if (strcmp(text, "leader") == 0) {
        *target = (struct target){ROLE_CONTROLLER, TARGET_LEADER};
        return GW_OK;
    }
    target->role = *text == 's'   ? ROLE_SERVER
                   : *text == 'c' ? ROLE_CONTROLLER
                                  : ROLE_WORKER;
    bool letter = target->role != ROLE_WORKER || *text == 'w';
    if (parse_number(text + letter, &target->node))
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a node; use 2, s0 for a server, c1 for a "
                   "controller, w2 for a worker, or leader",
                   text);
}

int target_number(struct target target)
{
    switch (target.role) {
    case ROLE_SERVER:
        return SERVER_NODE + target.node;
    case ROLE_CONTROLLER:
        return CONTROLLER_NODE - target.node;
    case ROLE_WORKER:
    case ROLES:
        break;
    }
    return target.node;
}

enum gw_err target_parse_words(int count, char *const *words,
                               struct target *target, struct gw_error *why)
{
    assert(count > 0);
    enum role role = role_parse(words[0]);
    if (role == ROLES && count == 1)
        return target_parse(words[0], target, why);
    if (role == ROLES)
        return gw_fail(why, GW_EINVAL,
                       "\"%.40s\" is not a role; use worker, server or "
                       "controller",
                       words[0]);
    if (count == 1)
        return gw_fail(why, GW_EINVAL, "%s: missing node number", words[0]);
    target->role = role;
    if (parse_number(words[1], &target->node))
        return GW_OK;
    return gw_fail(why, GW_EINVAL, "%s: \"%.40s\" is not a number", words[0],
                   words[1]);
}

static bool is_same(struct target a, struct target b)
{
    return a.role == b.role && a.node == b.node;
}

/* Reads "0,1,c2" up to `end`. */
static enum gw_err parse_side(const char *text, const char *end,
                              struct cut *cut, unsigned side,
                              struct gw_error *why)
{
    while (text < end) {
        char name[48];
        size_t length = strcspn(text, ",|");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        unsigned count = cut->sides[side].count;
        struct target *target = &cut->sides[side].targets[count];
        if (count == SIDE_MAX)
            return gw_fail(why, GW_EINVAL,
                           "cut: too many nodes on a side; use at most %d",
                           SIDE_MAX);
        if (target_parse(name, target, why))
            return why ? why->code : GW_EINVAL;
        for (unsigned i = 0; side && i < cut->sides[0].count; i++)
            if (is_same(*target, cut->sides[0].targets[i]))
                return gw_fail(why, GW_EINVAL, "%s is on both sides", name);
        cut->sides[side].count++;
        text += length + (text + length < end);
    }
    return GW_OK;
}

enum gw_err cut_parse(int count, char *const *words, struct cut *cut,
                      struct gw_error *why)
{
    assert(count > 0);
    const char *left = words[0], *bar = strchr(words[0], '|');
    const char *right = bar ? bar + 1 : count > 1 ? words[1] : "";
    *cut = (struct cut){0};
    if (!*left || bar == left || !*right || (bar && count > 1) ||
        strchr(right, '|'))
        return gw_fail(why, GW_EINVAL,
                       "cut needs two sides: 0,1|2,3 (in quotes for sh) or "
                       "0,1 2,3");
    const char *left_end = bar ? bar : left + strlen(left);
    enum gw_err code = parse_side(left, left_end, cut, 0, why);
    return code ? code : parse_side(right, right + strlen(right), cut, 1, why);
}
