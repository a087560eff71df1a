/* SPDX-License-Identifier: MIT
 *
 * For tests of the registry: every command goes to two replicas, whose answers
 * and digests must agree; the answer is kept.
 */
#ifndef TESTS_REGISTRY_PAIR_H
#define TESTS_REGISTRY_PAIR_H

#include <cluster/registry/registry.h>

#include <check.h>
#include <string.h>

struct registry_pair {
    struct gw__registry *first, *second;
    uint64_t next_index;
    uint64_t now_ms;
    struct gw__answer answer;
};
extern struct registry_pair pair;

void pair_setup(void);
void pair_teardown(void);

void pair_apply_bytes(const void *data, size_t bytes);
/* At pair.now_ms; returns the answer's code. */
enum gw_err pair_apply(struct gw__command command);
/* The answer has this text. */
void pair_expect_text(const char *sentence);
void pair_ring_is(unsigned count, const unsigned *nodes);

/* Incarnation `life` of a node. The functions below take life 0 where they have
 * no such parameter. */
struct gw__process pair_process(unsigned node, unsigned life);
/* Workers join the ring's candidates. */
enum gw_err pair_join(unsigned node, unsigned life, enum gw__role role);
enum gw_err pair_admit(unsigned node, unsigned life, uint64_t from_op);
/* Workers 0 .. count-1, in epoch 1. */
void pair_ring_of(unsigned count);
enum gw_err pair_suspect(struct gw__process by, struct gw__process whom,
                         bool certain);
enum gw_err pair_leave(unsigned node);
enum gw_err pair_deadline(uint64_t epoch);
/* Reports one op with as many chunks as the ring had members before its losses:
 * the sets of the first chunk and of the others, and which are final (bits 0
 * and 1). */
enum gw_err pair_report(unsigned node, uint64_t op, uint64_t set0,
                        uint64_t set1, uint64_t finals);

#endif
