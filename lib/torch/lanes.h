/* SPDX-License-Identifier: MIT
 *
 * The queues of a process group: one for collectives, one for messages.
 *
 * Their threads drop tensors, for which they may need the lock of the Python
 * interpreter. So a thread that closes them must not hold this lock, and they
 * must be closed before the interpreter ends: close_all_lanes is called at its
 * exit.
 */
#ifndef TORCH_LANES_H
#define TORCH_LANES_H

#include "call_queue.h"
#include "mailbox.h"
#include "staging.h"

#include <memory>

namespace gradwire {

/* Each unfinished work that waits holds them. */
struct Lanes {
    struct call_queue *calls = nullptr;
    struct mailbox *messages = nullptr; /* of two ranks or more */
    Staging staging;                    /* of the call that runs */

    static std::shared_ptr<Lanes> make();
    ~Lanes();
    /* Ends unfinished operations; the queues are NULL from here on. */
    void close();
};

/* Those of all process groups that still exist. */
void close_all_lanes();

} // namespace gradwire

#endif
