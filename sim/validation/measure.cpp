#include "sim/validation/measure.hpp"

#include <cmath>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim::validation {
namespace {

// Units with their number per SI unit (for bandwidths, per GB/s). Output uses the first of several equal units.
using Units = std::vector<std::pair<std::string, double>>;

const Units& units_of(UnitKind kind) {
  static const Units none{}, rates{{"images/s", 1}, {"samples/s", 1}, {"sequences/s", 1}, {"images/min", 60}},
      times{{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}, {"min", 1. / 60}, {"h", 1. / 3600}, {"days", 1. / 86400}},
      times_per_byte{{"s/B", 1}, {"ns/B", 1e9}, {"us/MB", 1e12}}, shares{{"fraction", 1}, {"%", 100}}, ratios{{"x", 1}},
      flops{{"FLOP/s", 1}, {"GFLOP/s", 1e-9}, {"TFLOP/s", 1e-12}, {"PFLOP/s", 1e-15}},
      bandwidths{{"GB/s", 1}, {"MB/s", 1e3}, {"Gbit/s", 8}},
      line_rates{{"bit/s", 1}, {"Gbit/s", 1e-9}, {"GB/s", 1. / 8e9}},
      sizes{{"B", 1}, {"GB", 1e-9}, {"GiB", 1. / (1 << 30)}, {"MB", 1e-6}, {"MiB", 1. / (1 << 20)}};
  switch (kind) {
    case UnitKind::rate:
      return rates;
    case UnitKind::flops:
      return flops;
    case UnitKind::time:
      return times;
    case UnitKind::time_per_byte:
      return times_per_byte;
    case UnitKind::share:
      return shares;
    case UnitKind::ratio:
      return ratios;
    case UnitKind::bandwidth:
      return bandwidths;
    case UnitKind::line_rate:
      return line_rates;
    case UnitKind::size:
      return sizes;
    case UnitKind::count:
      break;
  }
  return none;
}

bool remove_suffix(std::string& text, const std::string& end) {
  if (text.size() < end.size() || text.compare(text.size() - end.size(), end.size(), end) != 0) return false;
  text.resize(text.size() - end.size());
  return true;
}

// Reads "tokens/s/GPU" as a rate of tokens for each GPU.
void set_counted(std::string& unit, Measure& measure) {
  measure.is_per_gpu = remove_suffix(unit, "/GPU");
  if (unit == "tokens/s" || unit == "iterations/s") {
    measure.counted = unit == "tokens/s" ? Counted::tokens : Counted::iterations;
    unit = "samples/s";
  }
}

// Reads "days_for_300B_tokens" or "gpu_hours_for_1T_tokens": the time of a training at the speed of its iterations.
std::optional<Measure> time_for_tokens(const std::string& metric, const std::string& stated) {
  static const std::regex pattern(R"((days|gpu_hours)_for_(\d{1,6}(?:\.\d{1,3})?)([BT])_tokens)");
  std::smatch found;
  if (!std::regex_match(metric, found, pattern)) return std::nullopt;
  Measure measure;
  measure.metric = Metric::iteration_s;
  measure.is_of_all_gpus = found[1].str() == "gpu_hours";
  const std::string usual = measure.is_of_all_gpus ? "h" : "days";
  for (const auto& [name, per_si] : units_of(UnitKind::time))
    if (name == usual) measure.per_si = per_si;
  if (!stated.empty() && stated != usual)
    measure.why_not = "unit " + in_quotes(stated) + " of " + metric + "; known: " + usual;
  measure.tokens = std::stod(found[2].str()) * (found[3].str() == "T" ? 1e12 : 1e9);
  if (measure.tokens == 0) return std::nullopt;
  return measure;
}

}  // namespace

std::string why_not_predicted(const std::string& metric) {
  static const std::vector<std::pair<const char*, const char*>> reasons{
      {"throughput_ratio", "the learners on a GPU, and what part of it one of them can use, are not stated"},
      {"tta_", "it rests on how another software, or another number of learners, converges"},
      {"hours_sync", "neither side's iterations are given at its number of workers"},
      {"speed_ratio", "how a learning rate changes convergence is not modelled"},
      {"alltoall", "all-to-all is not simulated for records"},
      {"all_to_all", "all-to-all is not simulated for records"},
      {"flops", "it counts operations, of which publications differ"},
      {"memory", "the peak of all of a GPU's memory is predicted alone"},
      {"energy", "energy is not modelled"},
      {"power", "energy is not modelled"},
      {"relative_throughput", "what it is relative to is not stated"},
      {"overhead", "what it is a share of, and whether hidden communication counts, is not stated"},
      {"comm", "whether communication that computation hides counts is not stated"},
      {"utilization", "a share of time with any kernel is no speed"},
      {"forward", "it leaves the update and communication out"},
      {"per_image", "a rate in images/s is predicted"},
      {"cost", "prices are not known"},
      {"top", "the accuracy that a training reaches is not modelled"},
      {"accuracy", "the accuracy that a training reaches is not modelled"},
      {"loss", "the accuracy that a training reaches is not modelled"},
      {"error", "the accuracy that a training reaches is not modelled"},
      {"speedup_upper_bound", "which bound is meant is not stated"}};
  for (const auto& [part, why] : reasons)
    if (lower_case(metric).find(part) != std::string::npos) return std::string(": ") + why;
  return "";
}

Measure measure_by_name(const std::string& metric, const std::string& stated) {
  if (const std::optional<Measure> training = time_for_tokens(metric, stated)) return *training;
  Measure measure;
  const bool is_throughput_per_gpu = metric == "throughput_per_gpu";
  const std::optional<Metric> found = is_throughput_per_gpu ? Metric::images_per_s : find_choice<Metric>(metric);
  if (!found) {
    measure.why_not = "metric " + in_quotes(metric) + " is not predicted from records" + why_not_predicted(metric);
    return measure;
  }
  measure.metric = *found;
  const UnitKind kind = unit_kind(*found);
  if (*found == Metric::arrival && stated == "%") measure.per_si = 100;
  if (kind == UnitKind::count) return measure;
  std::string unit = stated;
  if (kind == UnitKind::rate) set_counted(unit, measure);
  if (kind == UnitKind::flops) remove_suffix(unit, "/GPU");
  if (is_throughput_per_gpu) measure.is_per_gpu = true;
  const Units& units = units_of(kind);
  if (unit.empty()) unit = units.front().first;
  std::vector<std::string> names;
  for (const auto& [name, per_si] : units) {
    names.push_back(name);
    if (name != unit) continue;
    measure.per_si = per_si;
    return measure;
  }
  measure.why_not = "unit " + in_quotes(stated) + " of " + metric + "; known: " + joined(names);
  return measure;
}

std::string unit_of(const Measure& measure) {
  if (measure.metric == Metric::arrival) return measure.per_si == 100 ? "%" : "";
  const Units& units = units_of(unit_kind(measure.metric));
  std::string unit;
  for (const auto& [name, per_si] : units)
    if (unit.empty() && std::abs(per_si / measure.per_si - 1) < 1e-12) unit = name;
  if (measure.counted == Counted::tokens) unit = "tokens/s";
  if (measure.counted == Counted::iterations) unit = "iterations/s";
  return unit + (measure.is_per_gpu ? "/GPU" : "");
}

}  // namespace lockstep::sim::validation
