/* SPDX-License-Identifier: MIT
 *
 * How the ranks of a process group find each other: by the store of PyTorch.
 */
#ifndef TORCH_RENDEZVOUS_H
#define TORCH_RENDEZVOUS_H

#include <gradwire/coll.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace gradwire {

using std::chrono::milliseconds;

/* A rank of a group. `timeout` is the limit of the rendezvous. */
struct Place {
    c10::intrusive_ptr<c10d::Store> store;
    int rank, size;
    milliseconds timeout;
};

/* Values of the store. */
std::vector<uint8_t> as_bytes(const std::string &text);
std::string as_text(const std::vector<uint8_t> &bytes);

/* Whether all ranks are on one host. */
bool share_host(const Place &place);
/* Creates the communicator of this name; calls on it may last for `patience`
 * without progress. */
struct gw_comm *connect(const Place &place, const char *lane, bool one_host,
                        milliseconds patience);

} // namespace gradwire

#endif
