/* SPDX-License-Identifier: MIT
 *
 * The generations of PyTorch's interface for backends. Up to 1.13 a backend is
 * a c10d::ProcessGroup; from 2.0 on a process group has one c10d::Backend per
 * kind of device, with the same functions. Those that only 2.0 has are declared
 * for both, without `override`.
 *
 * 1.13 is built and tested. 2.0 is written after PyTorch's headers, and has not
 * been compiled.
 */
#ifndef TORCH_GENERATION_H
#define TORCH_GENERATION_H

#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace gradwire {

#if TORCH_VERSION_MAJOR >= 2
using Generation = c10d::Backend;
#else
using Generation = c10d::ProcessGroup;
#endif

} // namespace gradwire

#endif
