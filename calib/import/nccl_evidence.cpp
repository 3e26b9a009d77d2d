#include "calib/import/nccl_evidence.hpp"

#include <algorithm>
#include <cmath>

#include "calib/bus_bandwidth.hpp"
#include "calib/import/log_text.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kRowTolerance = 2e-3;  // tables that people copied: busbw from a time with fewer digits
constexpr double kWidest = 0.1;         // a ratio that is less certain tells nothing
constexpr int kManyRanks = 2048;        // above, factors of neighbouring numbers differ by less than 1e-3
constexpr double kLimit =
    1e-6;  // a factor this close to the limit for n -> infinity does not bound the ranks from above

bool has_reduction(const std::string& operation) {
  return operation == "all-reduce" || operation == "reduce-scatter" || operation == "reduce";
}

bool has_root(const std::string& operation) {
  return operation == "broadcast" || operation == "reduce";
}

}  // namespace

const std::vector<std::string>& nccl_operations() {
  static const std::vector<std::string> names{"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                              "broadcast",  "reduce",     kSendReceive};
  return names;
}

std::string operation_of_program(const std::string& program) {
  static const std::vector<std::pair<std::string, std::string>> programs{
      {"all_reduce", "all-reduce"}, {"all_gather", "all-gather"}, {"reduce_scatter", "reduce-scatter"},
      {"alltoall", "all-to-all"},   {"broadcast", "broadcast"},   {"reduce_perf", "reduce"},
      {"sendrecv", kSendReceive}};
  if (program.find("alltoallv") != std::string::npos) return "";  // ranks send different amounts
  for (const auto& [part, operation] : programs)
    if (program.find(part) != std::string::npos) return operation;
  return "";
}

double rounding_of(const std::string& printed) {
  const std::size_t point = printed.find('.');
  if (point == std::string::npos) return 0.5;
  const auto decimals = static_cast<double>(printed.size() - point - 1);
  return 0.5 * std::pow(10, -std::min(decimals, 9.0));
}

std::string ratio_digits(double ratio) {
  return short_number(std::round(ratio * 1e4) / 1e4);
}

bool has_factor(const RowBandwidths& pair, double factor) {
  return std::abs(pair.busbw - factor * pair.algbw) <=
         pair.rounding * (1 + factor) * 1.01 + kRowTolerance * factor * pair.algbw;
}

std::optional<BusRatio> bus_ratio(const std::vector<RowBandwidths>& pairs) {
  std::vector<BusRatio> ratios;
  std::vector<double> middles;
  for (const RowBandwidths& pair : pairs) {
    const double slack = 1.01 * pair.rounding;
    if (!(pair.algbw > 2 * slack) || pair.busbw < 0) continue;
    const double low = (pair.busbw - slack) / (pair.algbw + slack), high = (pair.busbw + slack) / (pair.algbw - slack);
    if (high - low > kWidest) continue;
    ratios.push_back({low, pair.busbw / pair.algbw, high});
    middles.push_back(ratios.back().middle);
  }
  if (ratios.empty()) return std::nullopt;
  const double usual = median(middles);
  std::sort(ratios.begin(), ratios.end(),
            [](const BusRatio& a, const BusRatio& b) { return a.high - a.low < b.high - b.low; });
  for (const BusRatio& ratio : ratios)
    if (ratio.fits(usual)) return ratio;
  return ratios.front();
}

std::optional<std::pair<int, int>> ranks_with(const BusRatio& ratio, const std::string& operation) {
  const double share = operation == "all-reduce" ? 2 : 1;  // factor over endless ranks
  if (bus_factor(operation, 2) == bus_factor(operation, 3)) {
    if (!ratio.fits(1)) return std::nullopt;
    return std::make_pair(2, kMostRanks);
  }
  // factor = share (n - 1) / n, so n = share / (share - factor).
  const auto ranks_at = [&](double factor) {
    return factor >= share - kLimit ? double{kMostRanks} : std::min(share / (share - factor), double{kMostRanks});
  };
  if (ratio.low > share) return std::nullopt;
  const double low = std::max(2.0, std::ceil(ranks_at(ratio.low))), high = std::floor(ranks_at(ratio.high));
  if (high < low) return std::nullopt;
  return std::make_pair(static_cast<int>(low), static_cast<int>(high));
}

bool columns_allow(const RowColumns& columns, const std::string& operation) {
  if (!columns.redop.empty() && (columns.redop != "none") != has_reduction(operation)) return false;
  return columns.root.empty() || (columns.root != "-1") == has_root(operation);
}

std::vector<std::string> operations_with(const std::optional<BusRatio>& ratio, const RowColumns& columns, int ranks) {
  std::vector<std::string> names, of_many;
  for (const std::string& name : nccl_operations()) {
    if (!columns_allow(columns, name)) continue;
    if (ratio && ranks > 1 && !ratio->fits(bus_factor(name, ranks))) continue;
    const auto fitting = ratio && ranks < 2 ? ranks_with(*ratio, name) : std::make_optional(std::make_pair(2, 2));
    if (!fitting) continue;
    (fitting->first > kManyRanks ? of_many : names).push_back(name);
  }
  return names.empty() ? of_many : names;
}

std::string readings_of(const BusRatio& ratio, const RowColumns& columns, int ranks) {
  std::string text;
  for (const std::string& name : operations_with(ratio, columns, ranks)) {
    const auto fitting = ranks > 1 ? std::make_pair(ranks, ranks) : *ranks_with(ratio, name);
    std::string count = std::to_string(fitting.first);
    if (fitting.second == kMostRanks)
      count += " or more";
    else if (fitting.second > fitting.first)
      count += " to " + std::to_string(fitting.second);
    text += (text.empty() ? "" : ", or ") + name + " on " + count + " ranks";
  }
  return text;
}

void RankList::add(int rank, const std::string& host, const std::string& device) {
  has_repeated_ranks_ = !hosts_.emplace(rank, host).second || has_repeated_ranks_;
  if (device.empty()) return;
  const auto [known, is_new] = devices_.emplace(std::make_pair(host, device), rank);
  if (!is_new && repeated_device_.empty())
    repeated_device_ = "device " + device + " of " + host + " is listed as rank " + std::to_string(known->second) +
                       " and as rank " + std::to_string(rank);
}

std::map<std::string, int> RankList::per_host() const {
  std::map<std::string, int> counts;
  for (const auto& [rank, host] : hosts_) ++counts[host];
  return counts;
}

}  // namespace lockstep::calib
