#include "sim/scenario/profile_range.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/base/text.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/scenario/measured_all_reduce.hpp"

namespace lockstep::sim::scenario {
namespace {

// Compares only letters and digits: "NVIDIA H100 SXM5" contains "H100 SXM5".
bool is_named_in(const std::string& part, const std::string& whole) {
  const auto plain = [](const std::string& text) {
    std::string kept;
    for (char c : text)
      if (std::isalnum(static_cast<unsigned char>(c)))
        kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return kept;
  };
  return plain(whole).find(plain(part)) != std::string::npos;
}

// Compares the requested sizes `low` to `high` with the measured ones.
void note_sizes(double low, double high, double measured_low, double measured_high, std::vector<std::string>& lines) {
  if (low >= measured_low && high <= measured_high) return;
  lines.push_back("all-reduces of " + format_bytes(low < measured_low ? low : high) + " are outside the profile's " +
                  format_bytes(measured_low) + " to " + format_bytes(measured_high) + ": extrapolated by its fit");
}

void note_nccl(const NcclSpec& nccl, int nodes, double low, double high, std::vector<std::string>& lines) {
  if (!nccl.is_measured()) return;
  double measured_low = 0, measured_high = 0;
  int most_nodes = nccl.measured.empty() ? 0 : 1;
  const auto note_size = [&](double bytes) {
    measured_low = measured_high > 0 ? std::min(measured_low, bytes) : bytes;
    measured_high = std::max(measured_high, bytes);
  };
  if (nodes == 1 || nccl.measured_between_nodes.empty())
    for (const auto& [bytes, seconds] : nccl.measured) note_size(bytes);
  for (const NcclSpec::BetweenNodes& call : nccl.measured_between_nodes) {
    most_nodes = std::max(most_nodes, call.nodes);
    if (nodes > 1 || nccl.measured.empty()) note_size(call.bytes);
  }
  if (nodes > most_nodes)
    lines.push_back("all-reduces over " + std::to_string(nodes) + " nodes are more than the profile's " +
                    std::to_string(most_nodes) + ": extrapolated by NCCL's cost model");
  note_sizes(low, high, measured_low, measured_high, lines);
}

bool is_within(double x, const std::pair<double, double>& range) {
  return x >= range.first && x <= range.second;
}

// Writes "64", or "8 to 64".
template <typename Text>
std::string range_text(const std::pair<double, double>& range, const Text& text) {
  return range.first == range.second ? text(range.first) : text(range.first) + " to " + text(range.second);
}

// True if collectives overlap compute and run as kernels on the computing GPUs.
bool has_collectives_beside(const Scenario& s, int gpus) {
  return gpus > 1 && s.communication.overlap && traits_of(s.algorithm).has_kernels_beside;
}

}  // namespace

std::vector<std::string> unrated_batch_warnings(const Scenario& s, int batch_per_gpu) {
  std::vector<std::string> lines;
  const std::vector<RateSpec>& rates = s.compute.rates;
  if (rates.empty()) return lines;
  if (!rates.front().model.empty() && rates.front().model != s.model.name)
    lines.push_back("the rates were measured on " + rates.front().model +
                    ": how far its times are from the roofline is "
                    "taken for " +
                    s.model.name);
  const std::pair<double, double> batches{rates.front().batch, rates.back().batch};
  if (!is_within(batch_per_gpu, batches))
    lines.push_back("batch " + std::to_string(batch_per_gpu) + " is outside the rates' " +
                    range_text(batches, [](double batch) { return short_number(batch); }) +
                    ": the nearest's distance from the roofline is taken");
  return lines;
}

std::vector<std::string> profile_range_warnings(const Scenario& s, int gpus, int batch_per_gpu) {
  std::vector<std::string> lines;
  const ProfileSpec& profile = s.compute.profile;
  if (!profile) return lines;
  const int busy = std::min(gpus, s.cluster.gpus_per_node), measured = profile.devices_measured(busy);
  const calib::LineFit& line = profile.iteration(busy);
  if (!line.covers(batch_per_gpu))
    lines.push_back("batch " + std::to_string(batch_per_gpu) + " is outside the profile's " +
                    short_number(line.from_x) + " to " + short_number(line.to_x) + ": extrapolated by its fit");
  if (measured != busy)
    lines.push_back("the profile's iterations were measured with " + std::to_string(measured) + " devices busy, not " +
                    std::to_string(busy));
  const std::string& device = profile.profile->device.name;
  if (!is_named_in(s.cluster.gpu.name, device) && !is_named_in(device, s.cluster.gpu.name))
    lines.push_back("the profile was measured on " + device + ", the cluster has " + s.cluster.gpu.name);
  return lines;
}

std::vector<std::string> calls_beyond_profile(const Scenario& s, int gpus, int nodes,
                                              const std::vector<double>& call_bytes) {
  std::vector<std::string> lines;
  if (call_bytes.empty() || gpus < 2) return lines;
  const auto [low, high] = std::minmax_element(call_bytes.begin(), call_bytes.end());
  const AllReduceKind all_reduce = s.communication.all_reduce;
  if (all_reduce == AllReduceKind::nccl) note_nccl(s.communication.nccl, nodes, *low, *high, lines);
  if (all_reduce != AllReduceKind::profile && all_reduce != AllReduceKind::profile_average) return lines;
  if (const calib::Fit* fit = measured_all_reduce(s, gpus))
    note_sizes(*low, *high, fit->line.from_x, fit->line.to_x, lines);
  return lines;
}

std::vector<std::string> overlap_beyond_profile(const Scenario& s, int gpus, int batch_per_gpu,
                                                const std::vector<double>& call_bytes) {
  std::vector<std::string> lines;
  if (s.compute.overlap_slowdown || !has_collectives_beside(s, gpus)) return lines;
  const int busy = std::min(gpus, s.cluster.gpus_per_node);
  const auto measured = s.compute.profile.overlap(busy);
  if (!measured) return lines;
  const std::string nearest = ": the nearest's slowdown is taken";
  const std::pair<double, double> batches = measured->slowdown.batches(), sizes = measured->slowdown.bytes();
  if (!is_within(batch_per_gpu, batches))
    lines.push_back("batch " + std::to_string(batch_per_gpu) + " is outside the profile's " +
                    range_text(batches, [](double batch) { return short_number(batch); }) +
                    " for iterations beside all-reduces" + nearest);
  for (const double bytes : call_bytes)
    if (!is_within(bytes, sizes)) {
      lines.push_back("collectives of " + format_bytes(bytes) + " are outside the profile's " +
                      range_text(sizes, format_bytes) + " for iterations beside all-reduces" + nearest);
      break;
    }
  if (measured->devices != busy)
    lines.push_back("the profile's iterations beside all-reduces were measured with " +
                    std::to_string(measured->devices) + " devices busy, not " + std::to_string(busy));
  return lines;
}

}  // namespace lockstep::sim::scenario
