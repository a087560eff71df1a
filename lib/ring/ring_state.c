/* SPDX-License-Identifier: MIT
 *
 * The memory of the application's state. It may be moved and resized after a
 * result: all members do so after the same op, so a snapshot always has the
 * size that belongs to its op.
 */
#include "ring_parts.h"

void gw__state_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &again);
    pthread_mutexattr_destroy(&again);
}

size_t gw__state_bytes(struct gw_ring *ring)
{
    pthread_mutex_lock(&ring->state_lock);
    size_t bytes = ring->config.state_bytes;
    pthread_mutex_unlock(&ring->state_lock);
    return bytes;
}

void gw_ring_state(struct gw_ring *ring, void *state, size_t bytes)
{
    pthread_mutex_lock(&ring->state_lock);
    ring->config.state = state;
    ring->config.state_bytes = bytes;
    pthread_mutex_unlock(&ring->state_lock);
}
