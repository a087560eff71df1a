/* SPDX-License-Identifier: MIT
 *
 * Where the application's state lies. It may move and change its size when a
 * result says so: all members do that after the same op, so a snapshot is
 * always of the size that its op makes it.
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
