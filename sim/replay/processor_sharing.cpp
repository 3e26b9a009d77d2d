#include "sim/replay/processor_sharing.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kSame = 1e-12;   // relative: rounding
constexpr std::size_t kFew = 48;  // up to this number of flows, every event may visit all

bool are_alike(const std::vector<SharingFlow>& flows) {
  const SharingFlow& first = flows.front();
  return std::all_of(flows.begin() + 1, flows.end(), [&first](const SharingFlow& flow) {
    return flow.start_s == first.start_s && flow.bytes == first.bytes &&
           flow.most_bytes_per_s == first.most_bytes_per_s;
  });
}

// Requires that the first flow starts no later than the second.
void run_two(const SharingFlow& first, const SharingFlow& second, double bandwidth, double& first_end_s,
             double& second_end_s) {
  const double first_alone = std::min(first.most_bytes_per_s, bandwidth);
  const double second_alone = std::min(second.most_bytes_per_s, bandwidth);
  first_end_s = first.start_s + first.bytes / first_alone;
  if (first_end_s <= second.start_s) {
    second_end_s = second.start_s + second.bytes / second_alone;
    return;
  }
  const double left = first.bytes - first_alone * (second.start_s - first.start_s), half = bandwidth / 2;
  double first_rate = half, second_rate = half;
  if (first.most_bytes_per_s <= half) {
    first_rate = first.most_bytes_per_s;
    second_rate = std::min(second.most_bytes_per_s, bandwidth - first_rate);
  } else if (second.most_bytes_per_s <= half) {
    second_rate = second.most_bytes_per_s;
    first_rate = std::min(first.most_bytes_per_s, bandwidth - second_rate);
  }
  const double first_s = left / first_rate, second_s = second.bytes / second_rate;
  const double together_s = std::min(first_s, second_s);
  first_end_s = second_end_s = second.start_s + together_s;
  if (first_s > together_s) first_end_s += (left - first_rate * together_s) / first_alone;
  if (second_s > together_s) second_end_s += (second.bytes - second_rate * together_s) / second_alone;
}

}  // namespace

void ProcessorSharing::run(const std::vector<SharingFlow>& flows, double bandwidth, std::vector<double>& ends_s) {
  ends_s.resize(flows.size());
  if (flows.empty()) return;
  if (are_alike(flows)) {
    const SharingFlow& one = flows.front();
    const double rate = std::min(one.most_bytes_per_s, bandwidth / static_cast<double>(flows.size()));
    std::fill(ends_s.begin(), ends_s.end(), one.start_s + one.bytes / rate);
  } else if (flows.size() == 2) {
    const bool is_in_order = flows[0].start_s <= flows[1].start_s;
    const std::size_t first = is_in_order ? 0 : 1, second = 1 - first;
    run_two(flows[first], flows[second], bandwidth, ends_s[first], ends_s[second]);
  } else if (flows.size() <= kFew) {
    run_few(flows, bandwidth, ends_s);
  } else {
    run_many(flows, bandwidth, ends_s);
  }
}

void ProcessorSharing::run_few(const std::vector<SharingFlow>& flows, double bandwidth, std::vector<double>& ends_s) {
  const std::size_t n = flows.size();
  order_.resize(n);
  left_.resize(n);
  rate_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    left_[i] = flows[i].bytes;
    std::size_t place = i;
    for (; place > 0 && flows[order_[place - 1]].start_s > flows[i].start_s; --place) order_[place] = order_[place - 1];
    order_[place] = i;
  }
  active_.clear();
  double now_s = flows[order_.front()].start_s;
  for (std::size_t next = 0; next < n || !active_.empty();) {
    if (active_.empty()) now_s = std::max(now_s, flows[order_[next]].start_s);
    while (next < n && flows[order_[next]].start_s <= now_s) active_.push_back(order_[next++]);
    share_out(flows, bandwidth);
    double step_s = next < n ? flows[order_[next]].start_s - now_s : kInfinity;
    for (const std::size_t i : active_) step_s = std::min(step_s, left_[i] / rate_[i]);
    now_s += step_s;
    std::size_t kept = 0;
    for (const std::size_t i : active_) {
      left_[i] -= rate_[i] * step_s;
      if (left_[i] <= kSame * flows[i].bytes)
        ends_s[i] = now_s;
      else
        active_[kept++] = i;
    }
    active_.resize(kept);
  }
}

// A flow that can use less than an equal part of the rest gets its maximum. Repeats until no such flow is left.
void ProcessorSharing::share_out(const std::vector<SharingFlow>& flows, double bandwidth) {
  double free = bandwidth;
  std::size_t open = active_.size();
  for (const std::size_t i : active_) rate_[i] = 0;
  for (bool has_changed = true; has_changed && open > 0;) {
    has_changed = false;
    const double share = free / static_cast<double>(open);
    for (const std::size_t i : active_) {
      if (rate_[i] > 0 || flows[i].most_bytes_per_s > share) continue;
      rate_[i] = flows[i].most_bytes_per_s;
      free -= rate_[i];
      --open;
      has_changed = true;
    }
  }
  for (const std::size_t i : active_)
    if (rate_[i] == 0) rate_[i] = free / static_cast<double>(open);
}

// Let v be the bytes served to every active flow since the first began. Then a flow that starts at v ends at v + its
// bytes.
void ProcessorSharing::run_many(const std::vector<SharingFlow>& flows, double bandwidth, std::vector<double>& ends_s) {
  order_.resize(flows.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(),
            [&flows](std::size_t a, std::size_t b) { return flows[a].start_s < flows[b].start_s; });
  using Ending = std::pair<double, std::size_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> under_way;
  double now_s = 0, served = 0;
  const auto end_next = [&] {
    const auto [at_bytes, i] = under_way.top();
    now_s += (at_bytes - served) * static_cast<double>(under_way.size()) / bandwidth;
    served = at_bytes;
    under_way.pop();
    ends_s[i] = std::max(now_s, flows[i].start_s + flows[i].bytes / flows[i].most_bytes_per_s);
  };
  for (const std::size_t i : order_) {
    const double start_s = flows[i].start_s;
    while (!under_way.empty() &&
           now_s + (under_way.top().first - served) * static_cast<double>(under_way.size()) / bandwidth <= start_s)
      end_next();
    if (!under_way.empty()) served += (start_s - now_s) * bandwidth / static_cast<double>(under_way.size());
    now_s = start_s;
    under_way.push({served + flows[i].bytes, i});
  }
  while (!under_way.empty()) end_next();
}

}  // namespace lockstep::sim::replay
