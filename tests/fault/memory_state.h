/* SPDX-License-Identifier: MIT
 *
 * Memory shared by memory.c and the processes of a command; see
 * memory_preload.c.
 */
#ifndef MEMORY_STATE_H
#define MEMORY_STATE_H

#include <stdatomic.h>
#include <stdint.h>

enum { MEMORY_PROCESSES = 64 };

struct memory_state {
    /* The call that fails; 0: none, calls are only counted. */
    unsigned process;
    uint64_t call;
    /* The counters. */
    _Atomic unsigned processes;
    _Atomic uint64_t calls[MEMORY_PROCESSES];
    _Atomic uintptr_t caller; /* of the failed call; 0: none */
};

#endif
