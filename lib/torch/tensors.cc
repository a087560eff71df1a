/* SPDX-License-Identifier: MIT
 *
 * See tensors.h.
 */
#include "tensors.h"

#include <ATen/ATen.h>

namespace gradwire {

std::string sentence_of(enum gw_err code, const std::string &operation,
                        const std::string &text)
{
    const char *kind = code == GW_ETIMEOUT ? "Timed out "
                       : code == GW_ELOST || code == GW_ECLOSED
                           ? "connection closed by "
                             "a rank "
                           : "";
    return "gradwire: " + operation + ": " + kind + "(" + gw_err_name(code) +
           "): " + text;
}

void check(enum gw_err code, const struct gw_error &why)
{
    if (code)
        throw std::runtime_error(
            sentence_of(code, "opening a process group", why.text));
}

static enum gw_dtype dtype_of(const at::Tensor &tensor)
{
    switch (tensor.scalar_type()) {
    case at::kFloat:
    case at::kComplexFloat:
        return GW_F32;
    case at::kDouble:
    case at::kComplexDouble:
        return GW_F64;
    case at::kHalf:
        return GW_F16;
    case at::kBFloat16:
        return GW_BF16;
    case at::kChar:
        return GW_I8;
    case at::kByte:
    case at::kBool:
        return GW_U8;
    case at::kShort:
        return GW_I16;
    case at::kInt:
        return GW_I32;
    case at::kLong:
        return GW_I64;
    default:
        TORCH_CHECK(false, "gradwire: no reduction of tensors of type ",
                    tensor.scalar_type());
    }
}

Elements elements_of(const Tensors &tensors)
{
    Elements elements = {dtype_of(tensors[0]), 0};
    for (const auto &t : tensors)
        elements.count += static_cast<size_t>(t.numel());
    if (tensors[0].is_complex())
        elements.count *= 2;
    return elements;
}

void check_redop(const ReduceOp &op, const at::Tensor &tensor)
{
    bool is_bitwise =
        op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR;
    TORCH_CHECK(!is_bitwise || at::isIntegralType(tensor.scalar_type(), true),
                "gradwire: a bitwise reduction needs integers, not ",
                tensor.scalar_type());
    TORCH_CHECK(!tensor.is_complex() || op == ReduceOp::SUM ||
                    op == ReduceOp::AVG,
                "gradwire: complex numbers can only be added, not reduced "
                "otherwise");
}

enum gw_redop redop_of(const ReduceOp &op, const at::Tensor &tensor)
{
    bool is_bool = tensor.scalar_type() == at::kBool;
    check_redop(op, tensor);
    switch (static_cast<ReduceOp::RedOpType>(op)) {
    case ReduceOp::SUM:
        return is_bool ? GW_LOR : GW_SUM;
    case ReduceOp::AVG:
        return GW_AVG;
    case ReduceOp::PRODUCT:
        return is_bool ? GW_LAND : GW_PROD;
    case ReduceOp::MIN:
        return GW_MIN;
    case ReduceOp::MAX:
        return GW_MAX;
    case ReduceOp::BAND:
        return GW_BAND;
    case ReduceOp::BOR:
        return GW_BOR;
    default:
        TORCH_CHECK(false, "gradwire: unknown reduction");
    }
}

void check_tensor(const at::Tensor &tensor)
{
    TORCH_CHECK(tensor.device().is_cpu(),
                "gradwire: tensors must be on the CPU, not on ",
                tensor.device());
    TORCH_CHECK(tensor.layout() == at::kStrided,
                "gradwire: this operation needs dense tensors");
}

const at::Tensor &only(const Tensors &tensors)
{
    TORCH_CHECK(tensors.size() == 1, "gradwire: one tensor per rank, not ",
                tensors.size());
    check_tensor(tensors[0]);
    return tensors[0];
}

size_t bytes_of(const at::Tensor &tensor)
{
    return static_cast<size_t>(tensor.nbytes());
}

void check_alike(const Tensors &tensors, const at::Tensor &model)
{
    for (const auto &t : tensors) {
        check_tensor(t);
        TORCH_CHECK(t.scalar_type() == model.scalar_type() &&
                        t.numel() == model.numel(),
                    "gradwire: tensors must have the same size and type");
    }
}

} // namespace gradwire
