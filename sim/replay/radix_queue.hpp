#pragma once
// A queue of events in the order of time, then of pushes (Ahuja et al., Faster Algorithms for the Shortest Path
// Problem, 1990). No event may be pushed that is earlier than the latest pop(). An event's bucket is the highest bit in
// which its time differs from that pop's. The bits of doubles that are not negative have the order of the doubles.
// Events move to lower buckets a few times. This takes about a third of the instructions of a heap of thousands.
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

/// Entry: has a member `at_s`, 0 or above.
template <typename Entry>
class RadixQueue {
 public:
  bool empty() const { return filled_ == 0; }
  void push(const Entry& entry) {
    const int bucket = find_bucket(entry);
    if (bucket > first_bucket_ || filled_ == 0) {
      if (filled_ == 0) set_first(bucket, 0);
    } else if (bucket < first_bucket_ || entry.at_s < first().at_s) {
      set_first(bucket, buckets_[bucket].size());
    }
    add(entry, bucket);
  }
  /// The next event. Requires one.
  const Entry& first() const { return buckets_[first_bucket_][first_place_]; }
  void pop() {
    std::vector<Entry>& bucket = buckets_[first_bucket_];
    const int emptied = first_bucket_;
    const std::size_t taken = first_place_;
    latest_ = bits_of(bucket[taken]);
    if (emptied == 0 && taken + 1 < bucket.size()) return set_first(0, taken + 1);
    filled_ &= ~(std::uint64_t{1} << emptied);
    if (emptied > 0)
      for (std::size_t i = 0; i < bucket.size(); ++i)
        if (i != taken) add(bucket[i], find_bucket(bucket[i]));
    bucket.clear();
    find_first();
  }

 private:
  static constexpr int kBuckets = 64;  // the sign is always 0

  static std::uint64_t bits_of(const Entry& entry) {
    std::uint64_t bits;
    std::memcpy(&bits, &entry.at_s, sizeof bits);
    return bits;
  }
  int find_bucket(const Entry& entry) const {
    const std::uint64_t bits = bits_of(entry);
    return bits <= latest_ ? 0 : kBuckets - __builtin_clzll(bits ^ latest_);
  }
  void add(const Entry& entry, int bucket) {
    buckets_[bucket].push_back(entry);
    filled_ |= std::uint64_t{1} << bucket;
  }
  void set_first(int bucket, std::size_t place) {
    first_bucket_ = bucket;
    first_place_ = place;
  }
  // In each bucket, events with the same time are in the order of their pushes.
  void find_first() {
    if (filled_ == 0) return;
    set_first(__builtin_ctzll(filled_), 0);
    const std::vector<Entry>& bucket = buckets_[first_bucket_];
    if (first_bucket_ == 0) return;
    for (std::size_t i = 1; i < bucket.size(); ++i)
      first_place_ = bucket[i].at_s < bucket[first_place_].at_s ? i : first_place_;
  }

  std::vector<Entry> buckets_[kBuckets];
  std::uint64_t filled_ = 0;  // a bit for each bucket that has events
  std::uint64_t latest_ = 0;  // bits of the time of the latest pop()
  int first_bucket_ = 0;
  std::size_t first_place_ = 0;
};

}  // namespace lockstep::sim::replay
