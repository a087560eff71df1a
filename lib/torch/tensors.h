/* SPDX-License-Identifier: MIT
 *
 * What the calls of the process group need of tensors: types, checks, and many
 * tensors as one.
 */
#ifndef TORCH_TENSORS_H
#define TORCH_TENSORS_H

#include <gradwire/coll.h>

#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

namespace gradwire {

using c10d::ReduceOp;
using Tensors = std::vector<at::Tensor>;

/* Words that PyTorch's users search for, and the library's own sentence. */
std::string sentence_of(enum gw_err code, const std::string &text);
/* Throws if there is an error. */
void check(enum gw_err code, const struct gw_error &why);

/* They throw if gradwire does not have the type, or does not reduce it so. */
enum gw_dtype dtype_of(const at::Tensor &tensor);
enum gw_redop redop_of(const ReduceOp &op, const at::Tensor &tensor);

/* Throws unless the tensor is dense and on the CPU. */
void check_tensor(const at::Tensor &tensor);
/* Throws unless all have the size and the type of `model`. */
void check_alike(const Tensors &tensors, const at::Tensor &model);
/* The only one of a list. */
const at::Tensor &only(const Tensors &tensors);
size_t bytes_of(const at::Tensor &tensor);

/* The elements of all tensors, one after another, and back. */
at::Tensor flatten(const Tensors &tensors);
void unflatten(const at::Tensor &flat, const Tensors &tensors);

} // namespace gradwire

#endif
