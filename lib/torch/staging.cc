/* SPDX-License-Identifier: MIT
 *
 * See staging.h.
 */
#include "staging.h"

#include <ATen/ATen.h>
#include <cstring>

namespace gradwire {

namespace {

constexpr size_t LIMIT_BYTES = 16 << 20;
/* Calls up to here travel in the library's control block, wherever they are. */
constexpr size_t EAGER_BYTES = 4 << 10;
/* The library's own copying is faster beyond. */
constexpr size_t COPIED_BYTES = 512 << 10;
constexpr size_t LINE_BYTES = 64;

size_t in_lines(size_t bytes)
{
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

bool is_its_own_buffer(const Tensors &list, size_t bytes)
{
    return list.size() == 1 && list[0].is_contiguous() &&
           (bytes <= EAGER_BYTES || bytes > COPIED_BYTES);
}

at::Tensor at_address(void *memory, const at::Tensor &like)
{
    return at::from_blob(memory, like.sizes(), like.options());
}

} // namespace

/* ---- the memory ---- */

Staging::~Staging()
{
    gw_free(memory_);
}

void Staging::begin()
{
    struct gw_error why;
    size_t wanted = taken_;
    taken_ = 0;
    if (wanted <= bytes_ || wanted > LIMIT_BYTES)
        return;
    size_t room = 1 << 20;
    while (room < wanted)
        room *= 2;
    gw_free(memory_);
    memory_ = gw_alloc(room, &why);
    bytes_ = memory_ ? room : 0;
}

/* Missing memory is counted, too, so that the next call finds it. */
void *Staging::take(size_t bytes)
{
    size_t at = taken_;
    taken_ += in_lines(bytes);
    return taken_ <= bytes_ ? static_cast<char *>(memory_) + at : nullptr;
}

/* ---- tensors in it ---- */

Packed::Packed(Staging &staging, const Tensors &list, bool filled) : list_(list)
{
    for (const auto &t : list_)
        bytes_ += bytes_of(t);
    if (is_its_own_buffer(list_, bytes_)) {
        data_ = list_[0].data_ptr();
        return;
    }
    data_ = staging.take(bytes_);
    if (!data_) {
        heap_ = at::empty({static_cast<int64_t>(bytes_)}, at::kByte);
        data_ = heap_.data_ptr();
    }
    char *at = static_cast<char *>(data_);
    for (size_t i = 0; filled && i < list_.size(); i++) {
        const at::Tensor &t = list_[i];
        if (t.is_contiguous())
            std::memcpy(at, t.data_ptr(), bytes_of(t));
        else
            at_address(at, t).copy_(t);
        at += bytes_of(t);
    }
}

void Packed::unpack() const
{
    char *at = static_cast<char *>(data_);
    for (const auto &t : list_) {
        if (t.data_ptr() == at)
            return;
        if (t.is_contiguous())
            std::memcpy(t.data_ptr(), at, bytes_of(t));
        else
            t.copy_(at_address(at, t));
        at += bytes_of(t);
    }
}

} // namespace gradwire
