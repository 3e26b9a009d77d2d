#pragma once
// Matrix multiplications and convolutions of single precision with oneDNN (oneapi-src/oneDNN, packages libdnnl of
// Debian), in builds with LOCKSTEP_WITH_ONEDNN. The threads of oneDNN are not used: every call runs on the calling
// thread. Layers are cut into a fixed number of parts, so that results do not depend on the number of threads.
#include <cstdint>

#include "engine/host/gemm.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host::onednn {

/// Does what gemm() does, but allocates memory.
void multiply(const GemmSize& size, const Operand<float>& a, const Operand<float>& b, float* c, std::int64_t stride,
              bool accumulate);

/// A convolution that uses oneDNN's channel-blocked layout only within a part of the batch. Its inputs and outputs have
/// the layout of all other layers.
OperationPtr<float> make_convolution(const Wiring<float>& wiring);

}  // namespace lockstep::host::onednn
