#pragma once
// Project Adam's exchange of a fully-connected layer (Chilimbi et al. 2014; as Poseidon, section 3.2, describes it).
// One server owns the layer. The workers push their sufficient factors to it, it multiplies them out, and the workers
// pull back the whole matrix. The owner receives (P1 - 1) K (I + O) numbers and sends (P1 - 1) I O, so it carries all
// the load.
#include "sim/collective/sufficient_factors.hpp"

namespace lockstep::sim::collective {

/// Every worker sends factors of `bytes` to server `owner` (an index in Roles::servers), through the leader of its
/// node. pull_parameters() then brings the matrix back.
Plan push_factors(const Roles& roles, std::int64_t bytes, int owner);

}  // namespace lockstep::sim::collective
