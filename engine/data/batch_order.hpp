#pragma once
// The order in which training reads the images.
//
// All epochs form one endless sequence: position p is element p mod count of the permutation for (seed, p / count).
// With k learners of batch size b, learner j reads at iteration t the positions (t k + j) b to (t k + j + 1) b - 1. So
// the learners' batches are disjoint and use all of the sequence. Every batch is full; at the end of an epoch it
// continues with the next. The sequence depends neither on k nor on b: at each iteration, k learners of batch b read
// exactly the images of one learner of batch k b.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::data {

/// One position of the sequence, with its epoch, because augmentation changes from epoch to epoch.
struct Sample {
  std::int64_t index = 0;
  std::int64_t epoch = 0;
  bool operator==(const Sample& o) const { return index == o.index && epoch == o.epoch; }
};

/// Thread-safe.
class BatchOrder {
 public:
  /// Throws InputError if count is below 1 or above 2^32.
  BatchOrder(std::int64_t count, std::uint64_t seed);

  std::int64_t count() const { return count_; }
  /// The epoch's permutation of 0 ... count - 1.
  std::vector<std::uint32_t> permutation(std::int64_t epoch) const;

  /// `size` samples from `position` on.
  std::vector<Sample> samples(std::int64_t position, std::int64_t size) const;
  /// The samples on which learner `learner` of `learners` trains at `iteration`.
  std::vector<Sample> batch(std::int64_t iteration, int learner, int learners, std::int64_t batch_size) const;
  /// The number of iterations in which every image of an epoch is read: count / (k b), rounded up.
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
