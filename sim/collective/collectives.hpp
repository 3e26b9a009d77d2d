#pragma once
// The collective algorithms, one file each. Every one of n ranks holds a vector of S bytes, and the vectors are summed
// over ranks 0 .. n - 1 in the order of the GPUs. With one rank the plan is empty. A message takes alpha seconds plus
// beta per byte. The narrowest link sets beta, without contention.
#include <cstdint>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::collective {

/// Ring all-reduce: reduce-scatter, then all-gather, of chunks S/n around the ring.
///   T = 2(n-1)(alpha + S beta / n); each rank sends 2(n-1)/n S. (Patarasu & Yuan 2009)
Plan ring_all_reduce(int ranks, std::int64_t bytes);

/// Ring reduce-scatter: n - 1 rounds of S/n; T = (n-1)(alpha + S beta / n); each rank sends (n-1)/n S.
Plan reduce_scatter(int ranks, std::int64_t bytes);
/// Ring all-gather: as the reduce-scatter; S is the size of the gathered vector.
Plan all_gather(int ranks, std::int64_t bytes);

/// Three-phase hierarchical all-reduce over groups of k consecutive ranks (Jia et al. 2018, Fig. 5): reduce to each
/// group's first rank, ring all-reduce over these n/k masters, broadcast within each group. Reduce and broadcast are
/// chains pipelined in m slices, so each takes k - 2 + m rounds of S/m:
///   `T = 2(k-2+m)(alpha + S beta / m) + 2(n/k - 1)(alpha + S beta k / n)`.
/// The default, m = k (slices = 0), gives the paper's count of 4(k-1) + 2(n/k - 1) rounds. More slices fill the
/// pipeline better and cost more messages.
/// The last group is smaller when k does not divide n. With n <= k there is one group: a plain ring over it.
/// Bytes: k - 1 members send S in the reduce, k - 1 send S in the broadcast, each master 2(g-1)/g S for g groups.
Plan hierarchical_all_reduce(int ranks, int group_size, std::int64_t bytes, int slices = 0);

/// Recursive halving, then doubling (Rabenseifner 2004): log2 n rounds of S/2, S/4, ... and back.
///   T = 2 log2(n) alpha + 2(n-1)/n S beta; each rank sends 2(n-1)/n S.
/// When n is no power of two, the 2(n - 2^p) first ranks fold in pairs before (S one way) and unfold after.
Plan halving_doubling_all_reduce(int ranks, std::int64_t bytes);

/// Binomial tree that sends the whole vector at every hop. In level k rank r + 2^k sends to rank r; the sum returns on
/// the same way. Caffe's own data parallelism uses it over the GPUs of a node.
///   T = 2 ceil(log2 n) (alpha + S beta); together 2(n-1)S.
Plan tree_all_reduce(int ranks, std::int64_t bytes);

/// Double binary tree (Sanders, Speck & Traff 2009), in the shape that NCCL builds: two trees over all ranks, each for
/// half of the vector. Inner ranks of one are leaves of the other. Each tree reduces and broadcasts in `slices`.
/// Each rank sends at most 2S in all, together 2(n-1)S.
Plan double_binary_tree_all_reduce(int ranks, int slices, std::int64_t bytes);

/// 2-D torus (Mikami et al. 2018): reduce-scatter along rows of `columns` ranks, ring all-reduce of S/columns along
/// columns, all-gather along rows. `columns` must divide n. Each rank sends 2(c-1)/c S + 2(r-1)/r S/c.
Plan torus_all_reduce(int ranks, int columns, std::int64_t bytes);

}  // namespace lockstep::sim::collective
