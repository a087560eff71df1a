/* SPDX-License-Identifier: MIT
 *
 * See lanes.h.
 */
#include "lanes.h"

#include <mutex>
#include <torch/csrc/utils/pybind.h>
#include <vector>

namespace gradwire {

namespace {

std::mutex lock;
std::vector<std::weak_ptr<Lanes>> made;

void close_queues(Lanes &lanes)
{
    call_queue_close(&lanes.calls);
    mailbox_close(&lanes.messages);
}

} // namespace

std::shared_ptr<Lanes> Lanes::make()
{
    auto lanes = std::make_shared<Lanes>();
    std::lock_guard<std::mutex> guard(lock);
    std::vector<std::weak_ptr<Lanes>> alive;
    for (const auto &other : made)
        if (!other.expired())
            alive.push_back(other);
    alive.push_back(lanes);
    made.swap(alive);
    return lanes;
}

Lanes::~Lanes()
{
    close();
}

void Lanes::close()
{
    if (Py_IsInitialized() && PyGILState_Check()) {
        pybind11::gil_scoped_release unlocked;
        close_queues(*this);
    } else {
        close_queues(*this);
    }
}

void close_all_lanes()
{
    std::vector<std::weak_ptr<Lanes>> all;
    {
        std::lock_guard<std::mutex> guard(lock);
        all.swap(made);
    }
    for (const auto &weak : all)
        if (auto lanes = weak.lock())
            lanes->close();
}

} // namespace gradwire
