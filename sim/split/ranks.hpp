#pragma once
// Numbers the ranks of a split, and places its groups on nodes.
//
// A rank is the sum over the dimensions of coordinate * stride. A dimension's stride is the product of the sizes before
// it in the order (Megatron-LM, megatron/core/parallel_state.py, generate_masked_orthogonal_rank_groups()). Rank r is
// GPU r % gpus_per_node of node r / gpus_per_node.
#include <array>
#include <vector>

#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::split {

/// Coordinates of a rank, indexed by dimension.
class RankCoordinates {
 public:
  int& operator[](ParallelDimension dimension) { return values_[static_cast<std::size_t>(dimension)]; }
  int operator[](ParallelDimension dimension) const { return values_[static_cast<std::size_t>(dimension)]; }
  bool operator==(const RankCoordinates& other) const { return values_ == other.values_; }

 private:
  std::array<int, 5> values_{};
};

using Dimensions = std::vector<ParallelDimension>;
/// Members of a group, ascending.
using RankGroup = std::vector<int>;

/// Dimensions of the ranks that sum the gradients of a dense layer.
inline const Dimensions kGradientDimensions{ParallelDimension::context, ParallelDimension::expert,
                                            ParallelDimension::data};
/// Dimensions of the ranks that sum an expert's gradients. Megatron-LM may fold context ranks into expert groups. Here
/// expert ranks are part of data.
inline const Dimensions kExpertGradientDimensions{ParallelDimension::context, ParallelDimension::data};
/// Returns the dimensions of the ranks that divide the experts among them.
inline Dimensions expert_dimensions(const ParallelSpec& spec) {
  if (spec.folds_experts()) return {ParallelDimension::tensor, ParallelDimension::expert};
  return {ParallelDimension::expert};
}

class RankOrder {
 public:
  /// Requires `spec.data` to be set (on_gpus()).
  explicit RankOrder(const ParallelSpec& spec);

  int ranks() const { return ranks_; }
  /// Returns a dimension's size. The size of `data` does not include its expert part.
  int size(ParallelDimension dimension) const { return sizes_[dimension]; }
  int stride(ParallelDimension dimension) const { return strides_[dimension]; }
  RankCoordinates coordinates(int rank) const;
  int rank(const RankCoordinates& coordinates) const;
  /// Returns `rank` and the ranks that differ from it only in these dimensions.
  RankGroup group(int rank, const Dimensions& dimensions) const;
  /// Returns all such groups, ordered by their first member.
  std::vector<RankGroup> groups(const Dimensions& dimensions) const;

 private:
  std::vector<ParallelDimension> order_;
  RankCoordinates sizes_, strides_;
  int ranks_ = 1;
};

struct GroupPlacement {
  int nodes = 0;             ///< nodes with a member
  int most_on_a_node = 0;    ///< most members on one node
  int fewest_on_a_node = 0;  ///< fewest members on one node, among nodes with any

  bool is_within_node() const { return nodes == 1; }
};

GroupPlacement placement(const RankGroup& group, int gpus_per_node);

/// Returns, for every NIC of every node, the indices of the groups that use it at the same time. Such groups have a
/// member on the NIC's GPUs and members on other nodes. ClusterSpec::nic_of() gives the NIC of a GPU. The index is
/// [node * nics_per_node + nic].
std::vector<std::vector<int>> groups_of_nics(const std::vector<RankGroup>& groups, int gpus_per_node,
                                             int nics_per_node);

}  // namespace lockstep::sim::split
