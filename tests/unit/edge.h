/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of lib/coll's edge cases: the wires, with windows and
 * without, and communicators on which ranks may fail.
 */
#ifndef EDGE_H
#define EDGE_H

#include "must.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIRES = 4, SHM_WIRES = 2 };
/* Far less than a wait in vain, and more than a busy machine takes. */
#define PATIENCE_NS UINT64_C(10000000000)

/* Wires 0 and 1 are shm, with windows and without; 2 is ipc, 3 tcp. */
void on_wire(int wire, unsigned ranks, unsigned timeout_ms, rank_body body,
             void *context);
/* A communicator that all ranks have before any can fail on it. Otherwise the
 * error of an early rank would end its creation. */
struct gw_comm *twin_of(struct gw_comm *comm);

void fill(int32_t *data, size_t count, int32_t value);
bool holds(const int32_t *data, size_t count, int32_t value);

#endif
