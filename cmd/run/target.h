/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The target of a verb, as people write it:
 *
 *     2   worker 2   w2   server 0   s0   controller 1   c1   leader
 *
 * A number alone is a worker, the most common role; the leader is the
 * controller that leads. Sides of a cut are such names with commas, the sides
 * separated by "|" or a blank: 0,1|2,c1. Pure.
 */
#ifndef TARGET_H
#define TARGET_H

#include <gradwire/gradwire.h>

enum role { ROLE_WORKER, ROLE_SERVER, ROLE_CONTROLLER, ROLES };
const char *role_name(enum role role);

enum { TARGET_LEADER = -1, TARGET_NODE_MAX = 65535 };

struct target {
    enum role role;
    int node; /* TARGET_LEADER: the controller that leads */
};

/* "2", "w2", "s0", "c1", "leader". GW_EINVAL. */
GW_MUST_CHECK enum gw_err target_parse(const char *text, struct target *target,
                                       struct gw_error *why);
/* The library's number. */
int target_number(struct target target);
/* One or two words: a role may precede the number. */
GW_MUST_CHECK enum gw_err target_parse_words(int count, char *const *words,
                                             struct target *target,
                                             struct gw_error *why);

enum { SIDE_MAX = 64 };
struct cut {
    struct {
        unsigned count;
        struct target targets[SIDE_MAX];
    } sides[2];
};
/* One or two words. GW_EINVAL also when one is on both sides. */
GW_MUST_CHECK enum gw_err cut_parse(int count, char *const *words,
                                    struct cut *cut, struct gw_error *why);

#endif
