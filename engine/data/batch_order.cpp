#include "engine/data/batch_order.hpp"

#include <numeric>
#include <string>
#include <utility>

#include "engine/base/json.hpp"
#include "engine/base/random.hpp"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kShuffleStream = 0x53687566666C6573;
// Learners that do not wait for each other may be an epoch apart.
constexpr std::size_t kCachedEpochs = 4;

/// Returns a uniform integer in [0, bound), with a bias of up to bound / 2^32, for bounds up to 2^32.
std::uint64_t bounded(std::uint64_t bits, std::uint64_t bound) {
  return ((bits >> 32) * bound) >> 32;
}

}  // namespace

BatchOrder::BatchOrder(std::int64_t count, std::uint64_t seed) : count_(count), seed_(seed) {
  if (count < 1 || count > std::int64_t{1} << 32) {
    throw InputError("batch order: " + std::to_string(count) + " images; expected 1 to 4294967296");
  }
}

std::vector<std::uint32_t> BatchOrder::permutation(std::int64_t epoch) const {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count_));
  std::iota(order.begin(), order.end(), 0U);
  const std::uint64_t key = random_bits(seed_, kShuffleStream, static_cast<std::uint64_t>(epoch));
  for (std::uint64_t i = order.size(); i > 1; --i) {  // Fisher-Yates shuffle
    std::swap(order[i - 1], order[bounded(random_bits(key, 0, i), i)]);
  }
  return order;
}

BatchOrder::Permutation BatchOrder::cached(std::int64_t epoch) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Permutation& entry = cache_[epoch];
  if (!entry) entry = std::make_shared<const std::vector<std::uint32_t>>(permutation(epoch));
  const Permutation result = entry;
  if (cache_.size() > kCachedEpochs) cache_.erase(cache_.begin()->first == epoch ? --cache_.end() : cache_.begin());
  return result;
}

std::vector<Sample> BatchOrder::samples(std::int64_t position, std::int64_t size) const {
  if (position < 0 || size < 0) throw InputError("batch order: negative position or size");
  std::vector<Sample> result;
  result.reserve(static_cast<std::size_t>(size));
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t epoch = (position + done) / count_;
    const Permutation order = cached(epoch);
    for (std::int64_t i = (position + done) % count_; i < count_ && done < size; ++i, ++done) {
      result.push_back({(*order)[static_cast<std::size_t>(i)], epoch});
    }
  }
  return result;
}

std::vector<Sample> BatchOrder::batch(std::int64_t iteration, int learner, int learners,
                                      std::int64_t batch_size) const {
  if (learner < 0 || learner >= learners) {
    throw InputError("batch order: learner " + std::to_string(learner) + " of " + std::to_string(learners));
  }
  return samples((iteration * learners + learner) * batch_size, batch_size);
}

std::int64_t BatchOrder::iterations_per_epoch(int learners, std::int64_t batch_size) const {
  const std::int64_t global = learners * batch_size;
  if (learners < 1 || batch_size < 1) throw InputError("batch order: expected at least 1 learner and batch size 1");
  return (count_ + global - 1) / global;
}

}  // namespace lockstep::data
