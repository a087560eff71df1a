/* SPDX-License-Identifier: MIT
 *
 * What the calls of the process group need of tensors: types, checks, and many
 * tensors as one.
 */
#ifndef TORCH_TENSORS_H
#define TORCH_TENSORS_H

#include <gradwire/coll.h>

#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

namespace gradwire {

using c10d::ReduceOp;
using Tensors = std::vector<at::Tensor>;

/* The name of the operation, words that PyTorch's users search for, and the
 * library's own sentence. */
std::string sentence_of(enum gw_err code, const std::string &operation,
                        const std::string &text);
/* Throws if there is an error. */
void check(enum gw_err code, const struct gw_error &why);

/* The elements of tensors for a reduction; a complex number is two of them. */
struct Elements {
    enum gw_dtype type;
    size_t count;
};

/* They throw if gradwire does not have the type, or does not reduce it so. */
Elements elements_of(const Tensors &tensors);
void check_redop(const ReduceOp &op, const at::Tensor &tensor);
enum gw_redop redop_of(const ReduceOp &op, const at::Tensor &tensor);

/* Throws unless the tensor is dense and on the CPU. */
void check_tensor(const at::Tensor &tensor);
/* Throws unless all have the size and the type of `model`. */
void check_alike(const Tensors &tensors, const at::Tensor &model);
/* The only one of a list. */
const at::Tensor &only(const Tensors &tensors);
size_t bytes_of(const at::Tensor &tensor);

} // namespace gradwire

#endif
