#pragma once
// Products and convolutions of single precision by oneDNN (oneapi-src/oneDNN, the packages libdnnl of Debian), in builds
// that have it: LOCKSTEP_WITH_ONEDNN. Its own threads are not used: every call runs on the thread that makes it, and the
// parts that a layer is cut into are fixed, so that results do not depend on the number of threads.
#include <cstdint>

#include "engine/host/gemm.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host::onednn {

/// As gemm(). Unlike it, it allocates.
void multiply(const GemmSize& size, const Operand<float>& a, const Operand<float>& b, float* c, std::int64_t stride,
              bool accumulate);

/// A convolution whose images keep oneDNN's blocks of channels only within a part of the batch: what comes in and goes
/// out is as in all other layers.
OperationPtr<float> make_convolution(const Wiring<float>& wiring);

}  // namespace lockstep::host::onednn
