#include "calib/import/trace_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "calib/import/log_text.hpp"

namespace lockstep::calib {
namespace {

// Largest number for which a double has whole microseconds: 285 years. Today is 1.8e15 us after 1970.
constexpr double kLargestNumber = 9007199254740992.0;

}  // namespace

std::optional<double> number_of(const Json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || (!value->is_number() && !value->is_string())) return std::nullopt;
  const double number =
      value->is_number() ? value->get<double>() : std::strtod(value->get<std::string>().c_str(), nullptr);
  if (!(std::abs(number) <= kLargestNumber)) return std::nullopt;  // NaN, too
  return number;
}

double number_or(const Json& object, const char* key, double otherwise) {
  return number_of(object, key).value_or(otherwise);
}

std::string text_or(const Json& object, const char* key, const std::string& otherwise) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : otherwise;
}

CompleteEvents complete_events(const JsonNode& root) {
  const JsonNode events = root.is_array() ? root : root.at("traceEvents");
  CompleteEvents complete;
  double origin_us = kLargestNumber, latest_us = 1;
  for (const Json& event : events.json()) {
    if (!event.is_object() || text_or(event, "ph", "") != "X") continue;
    const auto begin_us = number_of(event, "ts");
    complete.without_time += begin_us ? 0 : 1;
    if (!begin_us) continue;
    complete.events.push_back({*begin_us, number_or(event, "dur", 0), &event});
    origin_us = std::min(origin_us, *begin_us);
    latest_us = std::max(latest_us, *begin_us);
  }
  complete.resolution_us = std::nextafter(latest_us, HUGE_VAL) - latest_us;
  for (TraceEvent& event : complete.events) event.begin_us -= origin_us;
  return complete;
}

std::optional<std::int64_t> profiler_step(const Json& event) {
  static const std::string prefix = "ProfilerStep#";
  const std::string name = text_or(event, "name", "");
  if (text_or(event, "cat", "") != "user_annotation" || name.compare(0, prefix.size(), prefix) != 0)
    return std::nullopt;
  return std::strtoll(name.c_str() + prefix.size(), nullptr, 10);
}

bool is_cuda_api_category(const std::string& category) {
  return category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime";
}

std::optional<TracedCall> collective_of(const Json& args) {
  static const std::map<std::string, std::string> operations{
      {"allreduce", "all-reduce"},          {"allreduce_coalesced", "all-reduce"},
      {"all_reduce", "all-reduce"},         {"allgather", "all-gather"},
      {"_allgather_base", "all-gather"},    {"all_gather", "all-gather"},
      {"reduce_scatter", "reduce-scatter"}, {"_reduce_scatter_base", "reduce-scatter"},
      {"all_to_all", "all-to-all"},         {"all_to_allv", "all-to-all"},
      {"broadcast", "broadcast"},           {"reduce", "reduce"}};
  static const std::map<std::string, int> sizes{{"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8},
                                                {"Byte", 1},  {"Int", 4},  {"Long", 8}};
  const auto operation = operations.find(text_or(args, "Collective name", ""));
  const auto size = sizes.find(text_or(args, "dtype", ""));
  const double ranks = number_or(args, "Group size", 0);
  const double elements = std::max(number_or(args, "In msg nelems", 0), number_or(args, "Out msg nelems", 0));
  if (operation == operations.end() || size == sizes.end() || ranks < 2 || ranks > kMostRanks || !(elements > 0))
    return std::nullopt;
  return TracedCall{operation->second, static_cast<int>(ranks), static_cast<std::int64_t>(elements) * size->second};
}

std::pair<int, int> world_size_and_rank(const Json& root) {
  if (!root.is_object() || !root.contains("distributedInfo") || !root["distributedInfo"].is_object()) return {1, 0};
  const Json& info = root["distributedInfo"];
  const double size = std::clamp(number_or(info, "world_size", 1), 1.0, double{kMostRanks});
  return {static_cast<int>(size), static_cast<int>(std::clamp(number_or(info, "rank", 0), 0.0, size - 1))};
}

std::string gpu_name(const Json& root) {
  if (!root.is_object() || !root.contains("deviceProperties") || !root["deviceProperties"].is_array() ||
      root["deviceProperties"].empty() || !root["deviceProperties"][0].is_object())
    return "";
  return text_or(root["deviceProperties"][0], "name", "");
}

}  // namespace lockstep::calib
