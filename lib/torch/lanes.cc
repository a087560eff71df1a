/* SPDX-License-Identifier: MIT
 *
 * See lanes.h. A process that is forked, such as a worker of a DataLoader, has
 * inherited the lanes of its parent but not their threads: it leaves them
 * alone.
 */
#include "lanes.h"

#include <map>
#include <mutex>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>
#include <vector>

namespace gradwire {

namespace {

struct Made {
    std::weak_ptr<Lanes> lanes;
    pid_t owner;
};

/* Never destroyed: a process group may end after all static objects. */
std::mutex &lock = *new std::mutex;
std::map<const Lanes *, Made> &all_made = *new std::map<const Lanes *, Made>;

bool is_own(const Lanes *lanes)
{
    std::lock_guard<std::mutex> guard(lock);
    return all_made.at(lanes).owner == getpid();
}

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
    all_made[lanes.get()] = Made{lanes, getpid()};
    return lanes;
}

Lanes::~Lanes()
{
    close();
    std::lock_guard<std::mutex> guard(lock);
    all_made.erase(this);
}

void Lanes::close()
{
    if (!is_own(this)) {
        calls = nullptr;
        messages = nullptr;
    } else if (Py_IsInitialized() && PyGILState_Check()) {
        pybind11::gil_scoped_release unlocked;
        close_queues(*this);
    } else {
        close_queues(*this);
    }
}

void close_all_lanes()
{
    std::vector<std::shared_ptr<Lanes>> all;
    {
        std::lock_guard<std::mutex> guard(lock);
        for (const auto &made : all_made)
            if (auto lanes = made.second.lanes.lock())
                all.push_back(lanes);
    }
    for (const auto &lanes : all)
        lanes->close();
}

} // namespace gradwire
