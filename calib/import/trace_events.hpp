#pragma once
// Reads events of PyTorch profiler traces (Chrome trace events); all readers of such traces use it.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// An event with a duration. Times are relative to the first event of the trace.
struct TraceEvent {
  double begin_us = 0;
  double duration_us = 0;
  const Json* json = nullptr;  ///< points into the document

  double end_us() const { return begin_us + duration_us; }
};

struct CompleteEvents {
  std::vector<TraceEvent> events;  ///< in the order of the document
  int without_time = 0;            ///< events whose "ts" is missing or cannot be a time in microseconds
  double resolution_us = 0;        ///< spacing of doubles at the latest time; launches may seem that much later
};

/// Events of phase "X". PyTorch up to 2.3 writes microseconds since 1970, where doubles are 0.25 us apart. Relative
/// times keep their precision in sums.
CompleteEvents complete_events(const JsonNode& root);

/// Nullopt if the key is missing, its value is no number, or a double cannot represent it to the microsecond.
std::optional<double> number_of(const Json& object, const char* key);
double number_or(const Json& object, const char* key, double otherwise);
std::string text_or(const Json& object, const char* key, const std::string& otherwise);

/// "ProfilerStep#12" of the profiler's schedule: 12.
std::optional<std::int64_t> profiler_step(const Json& event);
/// True for the category of CUDA's API (kernel launches, copies, synchronisation), as any version of PyTorch names it.
bool is_cuda_api_category(const std::string& category);

/// The collective of an NCCL kernel, as PyTorch 2 records it in the kernel's arguments; bytes as nccl-tests counts
/// them.
struct TracedCall {
  std::string operation;
  int ranks = 0;
  std::int64_t bytes = 0;
};
std::optional<TracedCall> collective_of(const Json& args);

/// Reads the number of processes and this process's rank from "distributedInfo"; 1 and 0 if it is absent.
std::pair<int, int> world_size_and_rank(const Json& root);
/// The first GPU's name from "deviceProperties"; empty if it is absent.
std::string gpu_name(const Json& root);

}  // namespace lockstep::calib
