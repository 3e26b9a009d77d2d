#pragma once
// In which order training sees the images.
//
// All epochs form one endless sequence: position p is element p mod count of the permutation for (seed, p / count).
// With k learners of batch size b, learner j takes at iteration t the positions (t k + j) b to (t k + j + 1) b - 1.
// So the learners' batches are disjoint parts of the sequence, all of it is used, every batch is full (the one that
// meets an epoch's end goes on with the next epoch), and the sequence does not depend on k or b: k learners of batch b
// see at each iteration exactly what one learner of batch k b sees.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::data {

/// One position of the sequence; the epoch is part of it because augmentation changes from epoch to epoch.
struct Sample {
  std::int64_t index = 0;
  std::int64_t epoch = 0;
  bool operator==(const Sample& o) const { return index == o.index && epoch == o.epoch; }
};

/// Safe to use from several threads.
class BatchOrder {
 public:
  /// Throws InputError where count is below 1 or above 2^32.
  BatchOrder(std::int64_t count, std::uint64_t seed);

  std::int64_t count() const { return count_; }
  /// The epoch's permutation of 0 ... count - 1.
  std::vector<std::uint32_t> permutation(std::int64_t epoch) const;

  /// `size` samples from `position` on.
  std::vector<Sample> samples(std::int64_t position, std::int64_t size) const;
  /// What learner `learner` of `learners` trains on at `iteration`.
  std::vector<Sample> batch(std::int64_t iteration, int learner, int learners, std::int64_t batch_size) const;
  /// Iterations after which an epoch's last image has been seen for the first time: count / (k b), rounded up.
  std::int64_t iterations_per_epoch(int learners, std::int64_t batch_size) const;

 private:
  using Permutation = std::shared_ptr<const std::vector<std::uint32_t>>;
  Permutation cached(std::int64_t epoch) const;

  std::int64_t count_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Permutation> cache_;  ///< guarded by mutex_
};

}  // namespace lockstep::data
