#include "sim/records/gpu_name.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

const std::string kNvl = "nvl";
constexpr std::size_t kMostDigits = 4;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" -_,");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" -_,") - first + 1);
}

// The number at `at`, which `end` is behind; 0: there is none.
int number_at(const std::string& text, std::size_t at, std::size_t& end) {
  end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end == at || end - at > kMostDigits ? 0 : std::stoi(text.substr(at, end - at));
}

// "GB200-NVL72" and "GB200 NVL72" become "GB200".
int cut_nvl_behind(std::string& name) {
  const std::size_t at = lower_case(name).rfind(kNvl);
  if (at == std::string::npos || at == 0) return 0;
  std::size_t end = 0;
  const int gpus = number_at(name, at + kNvl.size(), end);
  if (gpus == 0 || end != name.size()) return 0;
  name = trimmed(name.substr(0, at));
  return gpus;
}

// All of `text` is a name.
GpuRead read_whole(const Entries<GpuEntry>& gpus, const std::string& text) {
  std::string name = trimmed(text);
  GpuRead read;
  read.entry = gpus.named(name);
  read.nvl = cut_nvl_behind(name);
  if (read.entry == nullptr && read.nvl > 0) read.entry = gpus.named(name);
  return read;
}

}  // namespace

GpuRead read_gpu_name(const Entries<GpuEntry>& gpus, const std::string& text) {
  const GpuRead whole = read_whole(gpus, text);
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (whole.entry != nullptr || open == std::string::npos || close == std::string::npos || close < open) return whole;
  const std::string outside = text.substr(0, open) + " " + text.substr(close + 1);
  const std::string inside = text.substr(open + 1, close - open - 1);
  GpuRead by_outside = read_whole(gpus, outside), by_inside = read_whole(gpus, inside);
  by_outside.part = trimmed(outside);
  by_inside.part = trimmed(inside);
  if (by_inside.entry == nullptr || by_inside.entry == by_outside.entry) return by_outside;
  return by_outside.entry == nullptr ? by_inside : GpuRead{};
}

int cut_nvl(std::string& network) {
  const std::string small = lower_case(network);
  if (small.rfind(kNvl, 0) != 0) return 0;
  std::size_t end = 0;
  const int gpus = number_at(network, kNvl.size(), end);
  const bool ends = end == network.size() || network.find_first_of(" ,;+", end) == end;
  if (gpus == 0 || !ends) return 0;
  const std::size_t rest = network.find_first_not_of(" ,;+", end);
  network = rest == std::string::npos ? "" : network.substr(rest);
  return gpus;
}

JoinedNode joined_node(int stated, int domain, const std::vector<int>& gpus_of_jobs) {
  const int largest = gpus_of_jobs.empty() ? domain : *std::max_element(gpus_of_jobs.begin(), gpus_of_jobs.end());
  const int needed = largest > 0 ? (largest + stated - 1) / stated : domain;
  for (int trays = std::min(domain / stated, needed); trays > 1; --trays) {
    const int node = trays * stated;
    if (std::all_of(gpus_of_jobs.begin(), gpus_of_jobs.end(),
                    [&](int gpus) { return gpus <= node || gpus % node == 0; }))
      return {node, trays};
  }
  return {stated, 1};
}

}  // namespace records
}  // namespace lockstep::sim
