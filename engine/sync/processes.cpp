#include "engine/sync/processes.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::sync {

// With a single process, each collective is a copy.
void Processes::reduce(std::int64_t n, const float* send, float* receive) {
  std::copy_n(send, n, receive);
}

void Processes::reduce_scatter(std::int64_t part, const float* send, float* receive) {
  std::copy_n(send, part, receive);
}

void Processes::all_gather(std::int64_t part, const float* send, float* receive) {
  std::copy_n(send, part, receive);
}

void Processes::all_to_all(std::int64_t part, const float* send, float* receive) {
  std::copy_n(send, part, receive);
}

void Processes::add_parts(const std::vector<std::int64_t>& begins, const float* x, float* own) {
  std::copy_n(x, begins.back(), own);
}

void Processes::share_parts(const std::vector<std::int64_t>& /*begins*/, float* /*x*/) {}

double largest(Processes& processes, double x) {
  if (processes.count() == 1) return x;
  std::vector<double> all(static_cast<std::size_t>(processes.count()), 0);  // each process sets one element
  all[static_cast<std::size_t>(processes.rank())] = x;
  processes.sum(processes.count(), all.data());
  return *std::max_element(all.begin(), all.end());
}

}  // namespace lockstep::sync
