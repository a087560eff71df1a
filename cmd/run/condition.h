/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Conditions of `wait` and `expect`:
 *
 *     or    = and { "||" and }
 *     and   = not { "&&" not }
 *     not   = "!" not | "(" or ")" | NAME [ OP NUMBER ]
 *     OP    = "==" "!=" "<" "<=" ">" ">="
 *
 * A name alone is true when it is not 0. Numbers may have a fraction and an
 * exponent. Pure.
 */
#ifndef CONDITION_H
#define CONDITION_H

#include <gradwire/gradwire.h>

/* name, description */
#define CONDITION_NAMES(X)                                                     \
    X(alive, "Members that are alive: of the ring, or workers and servers.")   \
    X(epoch, "Epoch of the membership; each change increases it.")             \
    X(data_epoch, "Completed passes over the data.")                           \
    X(step, "Completed training steps.")                                       \
    X(op, "Completed collective calls, or work items.")                        \
    X(loss, "Loss of the newest step.")                                        \
    X(lost, "Contributions and samples that are in no result.")                \
    X(doubled, "Contributions and samples that were counted twice.")           \
    X(wrong, "Wrong elements in results of ops.")                              \
    X(done, "1 when the training is complete.")                                \
    X(parked,                                                                  \
      "Members that are cut off from the majority of the controllers.")        \
    X(workers, "that are there")                                               \
    X(servers, "that are there")                                               \
    X(replicas, "Replicas in sync of the slot with the fewest.")               \
    X(clock, "Clock of the slowest worker.")                                   \
    X(controllers, "that are there")                                           \
    X(uneven, "Load of the busiest server divided by the mean of all.")

enum condition_name {
#define X(name, help) COND_##name,
    CONDITION_NAMES(X)
#undef X
        COND_NAMES
};
const char *condition_name(enum condition_name name);
const char *condition_help(enum condition_name name);

/* NaN: not known yet; every comparison with it is false. */
struct condition_values {
    double of[COND_NAMES];
};

struct condition;

/* GW_EINVAL with the column and the expected words; a suggestion for a misspelt
 * name. */
GW_MUST_CHECK enum gw_err condition_parse(const char *text,
                                          struct condition **condition,
                                          struct gw_error *why);
void condition_destroy(struct condition **condition);
bool condition_holds(const struct condition *condition,
                     const struct condition_values *values);
/* "alive is 3, epoch is 2": the values of its names. */
void condition_explain(const struct condition *condition,
                       const struct condition_values *values, char *out,
                       size_t room);

#endif
