/* SPDX-License-Identifier: MIT
 *
 * See shared_memory.h. The allocator replaces that of PyTorch for the whole
 * process, once, and passes on everything that it does not want. A tensor keeps
 * its allocator, so this one is never destroyed.
 */
#include "shared_memory.h"

#include <gradwire/wire.h>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <mutex>

namespace gradwire {

namespace {

/* Smaller tensors are copied for a call faster than memory is made. */
constexpr size_t least_bytes = 256 << 10;

thread_local unsigned depth = 0;

class SharedMemory : public c10::Allocator {
  public:
    explicit SharedMemory(c10::Allocator *other) : other_(other)
    {
    }

    c10::DataPtr allocate(size_t bytes) const override
    {
        void *memory = depth > 0 && bytes >= least_bytes
                           ? gw_alloc(bytes, nullptr)
                           : nullptr;
        return memory ? c10::DataPtr(memory, memory, gw_free,
                                     c10::Device(c10::DeviceType::CPU))
                      : other_->allocate(bytes);
    }

  private:
    c10::Allocator *other_;
};

} // namespace

void share_memory(bool on)
{
    static std::once_flag once;
    std::call_once(once, [] {
        c10::SetCPUAllocator(new SharedMemory(c10::GetCPUAllocator()));
    });
    depth += on ? 1U : -1U;
}

} // namespace gradwire
