#pragma once
// Detects blocks of transfers between the same ranks in the same order. Buckets of a job differ only in bytes, and a
// collective often repeats its route backwards. Results that depend only on ranks are computed once for all such
// blocks.
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::replay {

/// True if both have the same senders and receivers in the same order. Ignores bytes and reductions.
bool have_same_ranks(const Run& a, const Run& b);
bool have_same_ranks(const Transfers::Block& a, const Transfers::Block& b);
/// True if corresponding blocks of both plans connect the same ranks, and both plans reuse blocks in the same places.
/// Ignores bytes and reductions.
bool have_same_ranks(const Plan& a, const Plan& b);
/// True if the plans also reduce in the same places, so that their transfers differ at most in bytes.
bool differ_only_in_bytes(const Plan& a, const Plan& b);
std::uint64_t hash_of_ranks(const Run& run);
std::uint64_t hash_of_ranks(const Transfers::Block& block);

/// Keeps one value for each shape of blocks.
template <typename Of>
class ByShape {
 public:
  /// Returns the value of the block's shape; makes it from the block if there is none yet.
  template <typename Make>
  std::shared_ptr<Of> of(const std::shared_ptr<const Transfers::Block>& block, Make&& make) {
    auto& candidates = known_[hash_of_ranks(*block)];
    for (const auto& [other, of_other] : candidates)
      if (other == block || have_same_ranks(*other, *block)) return of_other;
    candidates.emplace_back(block, std::make_shared<Of>(make(*block)));
    return candidates.back().second;
  }

 private:
  std::unordered_map<std::uint64_t,
                     std::vector<std::pair<std::shared_ptr<const Transfers::Block>, std::shared_ptr<Of>>>>
      known_;
};

}  // namespace lockstep::sim::replay
