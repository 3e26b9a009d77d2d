#pragma once
// 1-bit quantisation with error feedback (Seide et al. 2014, as in CNTK). A gradient matrix is sent as one bit per
// element and two 32-bit means per column, for its zeros and its ones. The worker keeps the error, called the residual,
// and adds it to the next gradient. The owner of a share adds up the workers' bits, quantises the sum with a residual
// of its own and sends bits back. On the wire, E elements in C columns take E/8 + 8 C bytes in each direction.
//
// It costs passes over memory, of 4 bytes per element:
//   Worker, before the push  Reads gradient and residual for the means, again for the bits, and writes the residual: 5
//                            passes over E elements, and E/8 bytes of bits.
//   Owner                    Reads and writes the sum for each worker: 2 P1 passes over its share, then 5 as above.
//   Worker, after the pull   Makes a gradient of the bits: 1 pass, and E/8 bytes.
#include <cstdint>

#include "sim/modules.hpp"

namespace lockstep::sim::collective {

std::int64_t one_bit_bytes(std::int64_t elements, std::int64_t columns);
/// These return the memory traffic of the three steps in bytes. `share`: elements of one owner, `pushes`: P1.
double quantise_memory_bytes(std::int64_t elements);
double serve_quantised_memory_bytes(std::int64_t share, int pushes);
double dequantise_memory_bytes(std::int64_t elements);

}  // namespace lockstep::sim::collective
