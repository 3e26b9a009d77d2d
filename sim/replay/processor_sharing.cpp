#include "sim/replay/processor_sharing.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kSame = 1e-12;   // relative: rounding
constexpr std::size_t kFew = 48;  // up to this number of flows, every event may visit all

bool are_equal(const SharingFlow* flows, std::size_t count) {
  const SharingFlow& first = *flows;
  return std::all_of(flows + 1, flows + count, [&first](const SharingFlow& flow) {
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

struct ActiveFlow {
  std::size_t number;
  double most_bytes_per_s;
  double left;  // bytes
  double rate;
};

// A flow that can use less than an equal part of the rest gets its maximum. Repeats until no such flow is left.
void set_rates(ActiveFlow* first, ActiveFlow* last, double bandwidth) {
  double free = bandwidth;
  std::size_t open = static_cast<std::size_t>(last - first);
  double share = free / static_cast<double>(open);
  for (ActiveFlow* flow = first; flow != last; ++flow) flow->rate = 0;
  for (bool has_changed = true; has_changed && open > 0;) {
    has_changed = false;
    for (ActiveFlow* flow = first; flow != last; ++flow) {
      if (flow->rate > 0 || flow->most_bytes_per_s > share) continue;
      flow->rate = flow->most_bytes_per_s;
      free -= flow->rate;
      --open;
      has_changed = true;
    }
    if (has_changed) share = free / static_cast<double>(open);
  }
  for (ActiveFlow* flow = first; flow != last; ++flow)
    if (flow->rate == 0) flow->rate = share;
}

// Requires at most kFew flows.
void run_few(const SharingFlow* flows, std::size_t count, double bandwidth, double* ends_s) {
  std::array<std::size_t, kFew> order;  // by start
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t place = i;
    for (; place > 0 && flows[order[place - 1]].start_s > flows[i].start_s; --place) order[place] = order[place - 1];
    order[place] = i;
  }
  std::array<ActiveFlow, kFew> active;
  std::size_t actives = 0;
  double now_s = 0;
  for (std::size_t next = 0; next < count || actives > 0;) {
    if (actives == 0) now_s = std::max(now_s, flows[order[next]].start_s);
    for (; next < count && flows[order[next]].start_s <= now_s; ++next) {
      const SharingFlow& flow = flows[order[next]];
      active[actives++] = {order[next], flow.most_bytes_per_s, flow.bytes, 0};
    }
    ActiveFlow* const last = active.data() + actives;
    set_rates(active.data(), last, bandwidth);
    double step_s = next < count ? flows[order[next]].start_s - now_s : kInfinity;
    for (const ActiveFlow* flow = active.data(); flow != last; ++flow)
      step_s = std::min(step_s, flow->left / flow->rate);
    now_s += step_s;
    std::size_t kept = 0;
    for (ActiveFlow* flow = active.data(); flow != last; ++flow) {
      flow->left -= flow->rate * step_s;
      if (flow->left <= kSame * flows[flow->number].bytes)
        ends_s[flow->number] = now_s;
      else
        active[kept++] = *flow;
    }
    actives = kept;
  }
}

}  // namespace

void ProcessorSharing::run(const SharingFlow* flows, std::size_t count, double bandwidth, std::vector<double>& ends_s) {
  if (ends_s.size() < count) ends_s.resize(count);
  if (count == 0) return;
  if (are_equal(flows, count)) {
    const double rate = std::min(flows->most_bytes_per_s, bandwidth / static_cast<double>(count));
    std::fill_n(ends_s.begin(), count, flows->start_s + flows->bytes / rate);
  } else if (count == 2) {
    const std::size_t first = flows[0].start_s <= flows[1].start_s ? 0 : 1, second = 1 - first;
    run_two(flows[first], flows[second], bandwidth, ends_s[first], ends_s[second]);
  } else if (count <= kFew) {
    run_few(flows, count, bandwidth, ends_s.data());
  } else {
    run_many(flows, count, bandwidth, ends_s);
  }
}

void ProcessorSharing::Endings::push(const Ending& ending) {
  if (first_ == in_order_.size() || ending.first >= in_order_.back().first) {
    in_order_.push_back(ending);
    return;
  }
  others_.push_back(ending);
  std::push_heap(others_.begin(), others_.end(), std::greater<>());
}

ProcessorSharing::Ending ProcessorSharing::Endings::pop() {
  if (is_next_in_order()) return in_order_[first_++];
  std::pop_heap(others_.begin(), others_.end(), std::greater<>());
  const Ending ending = others_.back();
  others_.pop_back();
  return ending;
}

void ProcessorSharing::Endings::clear() {
  in_order_.clear();
  others_.clear();
  first_ = 0;
}

// Let v be the bytes served to every active flow since the first began. Then a flow that starts at v ends at v + its
// bytes.
void ProcessorSharing::run_many(const SharingFlow* flows, std::size_t count, double bandwidth,
                                std::vector<double>& ends_s) {
  order_.resize(count);
  for (std::size_t i = 0; i < count; ++i) order_[i] = {flows[i].start_s, i};
  std::stable_sort(order_.begin(), order_.end());  // on such starts, std::sort falls back to a slower heap sort
  endings_.clear();
  double now_s = 0, served = 0;
  const auto end_next = [&] {
    const double active = static_cast<double>(endings_.size());
    const auto [at_bytes, i] = endings_.pop();
    now_s += (at_bytes - served) * active / bandwidth;
    served = at_bytes;
    ends_s[i] = std::max(now_s, flows[i].start_s + flows[i].bytes / flows[i].most_bytes_per_s);
  };
  for (const auto& [start_s, i] : order_) {
    while (!endings_.empty() &&
           now_s + (endings_.least() - served) * static_cast<double>(endings_.size()) / bandwidth <= start_s)
      end_next();
    if (!endings_.empty()) served += (start_s - now_s) * bandwidth / static_cast<double>(endings_.size());
    now_s = start_s;
    endings_.push({served + flows[i].bytes, i});
  }
  while (!endings_.empty()) end_next();
}

}  // namespace lockstep::sim::replay
