#include "calib/import/step_trace.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "calib/import/trace_events.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

bool has_any(const std::string& text, const std::vector<const char*>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

bool is_nccl_kernel(const std::string& small) {
  return has_any(small, {"nccl", "rccl"});
}

// "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "ncclKernel_AllReduce_RING_LL_Sum_float"
std::string operation_of_kernel(const std::string& small) {
  static const std::vector<std::pair<const char*, const char*>> names{
      {"allreduce", "all-reduce"}, {"allgather", "all-gather"},  {"reducescatter", "reduce-scatter"},
      {"broadcast", "broadcast"},  {"sendrecv", "send-receive"}, {"reduce", "reduce"}};
  for (const auto& [part, operation] : names)
    if (small.find(part) != std::string::npos) return operation;
  return "other";
}

struct GpuKernel {
  double begin_us = 0, end_us = 0;
  double launch_us = 0;  ///< its begin if the launch was not recorded
  StepPart part = StepPart::memory;
  std::size_t collective = 0;  ///< its key, of communication
  std::string group{};         ///< of communication
};

using CollectiveKey = std::tuple<std::string, int, std::int64_t>;

struct StepWindow {
  std::int64_t number = 0;
  double begin_us = 0, end_us = 0;
};

class StepTraceReader {
 public:
  explicit StepTraceReader(const JsonNode& root) {
    const CompleteEvents complete = complete_events(root);
    for (const TraceEvent& event : complete.events) {
      const Json& json = *event.json;
      const std::string category = text_or(json, "cat", "");
      const auto correlation =
          static_cast<std::int64_t>(number_or(json.value("args", Json::object()), "correlation", -1));
      if (is_cuda_api_category(category) && correlation >= 0) launches_us_.try_emplace(correlation, event.begin_us);
      if (const auto number = profiler_step(json)) steps_.push_back({*number, event.begin_us, event.end_us()});
    }
    for (const TraceEvent& event : complete.events) take_kernel(event);
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [](const GpuKernel& a, const GpuKernel& b) { return a.begin_us < b.begin_us; });
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](const StepWindow& a, const StepWindow& b) { return a.begin_us < b.begin_us; });
  }

  bool has_steps() const { return !steps_.empty(); }
  bool has_kernels() const { return !kernels_.empty(); }

  std::vector<TracedStep> steps() const {
    std::vector<TracedStep> all;
    for (const StepWindow& window : windows()) all.push_back(step_in(window));
    return all;
  }

 private:
  void take_kernel(const TraceEvent& event) {
    const std::string category = text_or(*event.json, "cat", "");
    const bool is_copy = has_any(category, {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"});
    if (!is_copy && category != "kernel" && category != "Kernel") return;
    const Json args = event.json->value("args", Json::object());
    GpuKernel kernel{event.begin_us, event.end_us(), event.begin_us};
    const auto launch = launches_us_.find(static_cast<std::int64_t>(number_or(args, "correlation", -1)));
    if (launch != launches_us_.end()) kernel.launch_us = std::min(kernel.begin_us, launch->second);
    const std::string name = text_or(*event.json, "name", ""), small = lower_case(name);
    const auto call = collective_of(args);
    if (!is_copy && (call || is_nccl_kernel(small))) {
      kernel.part = StepPart::communication;
      kernel.collective = index_of(call ? CollectiveKey{call->operation, call->ranks, call->bytes}
                                        : CollectiveKey{operation_of_kernel(small), 0, 0});
      kernel.group = group_of(args);
    } else if (!is_copy) {
      kernel.part = kernel_part(name);
    }
    kernels_.push_back(kernel);
  }

  // PyTorch 2 writes ranks as a text or a list, shortened in large groups. All processes have the same names of groups.
  static std::string group_of(const Json& args) {
    const auto ranks = args.find("Process Group Ranks");
    if (ranks != args.end() && ranks->is_array() && !ranks->empty()) return ranks->dump();
    const std::string text = text_or(args, "Process Group Ranks", "");
    return text.empty() || text == "[]" ? text_or(args, "Process Group Name", "") : text;
  }

  std::size_t index_of(const CollectiveKey& key) {
    const auto found = std::find(keys_.begin(), keys_.end(), key);
    if (found == keys_.end()) keys_.push_back(key);
    return static_cast<std::size_t>(std::distance(keys_.begin(), std::find(keys_.begin(), keys_.end(), key)));
  }

  // First begin and last end of the kernels that were launched in the step.
  std::optional<std::pair<double, double>> kernels_of(const StepWindow& step) const {
    std::optional<std::pair<double, double>> span;
    for (const GpuKernel& kernel : kernels_) {
      if (kernel.launch_us < step.begin_us || kernel.launch_us >= step.end_us) continue;
      if (!span) span = {kernel.begin_us, kernel.end_us};
      span->second = std::max(span->second, kernel.end_us);
    }
    return span;
  }

  std::vector<StepWindow> windows() const {
    std::vector<StepWindow> all;
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
      const StepWindow &step = steps_[i], &next = steps_[i + 1];
      const bool follows = next.begin_us - step.end_us < 0.5 * (step.end_us - step.begin_us);
      const auto own = kernels_of(step), after = kernels_of(next);
      if (follows && own && after && after->first > own->first) all.push_back({step.number, own->first, after->first});
    }
    if (!all.empty()) return all;
    for (const StepWindow& step : steps_)
      if (const auto own = kernels_of(step))
        all.push_back({step.number, step.begin_us, std::max(step.end_us, own->second)});
    return all;
  }

  TracedStep step_in(const StepWindow& window) const {
    TracedStep step;
    step.number = window.number;
    step.seconds = (window.end_us - window.begin_us) * 1e-6;
    std::vector<StepCollective> collectives(keys_.size());
    std::multimap<double, const GpuKernel*> running;  // by end
    double now_us = window.begin_us;
    const auto pass_to = [&](double until_us, const GpuKernel* next) {
      while (now_us < until_us) {
        while (!running.empty() && running.begin()->first <= now_us) running.erase(running.begin());
        const double end_us = running.empty() ? until_us : std::min(until_us, running.begin()->first);
        if (running.empty())
          add_gap(step, window, now_us, end_us, next);
        else
          add_running(step, window, now_us, end_us, running, collectives);
        now_us = end_us;
      }
    };
    for (const GpuKernel& kernel : kernels_) {
      if (kernel.end_us <= window.begin_us) continue;
      if (kernel.begin_us >= window.end_us) {
        pass_to(window.end_us, &kernel);
        break;
      }
      pass_to(kernel.begin_us, &kernel);
      running.emplace(kernel.end_us, &kernel);
      if (kernel.part != StepPart::communication || kernel.begin_us < window.begin_us) continue;
      StepCollective& of_key = collectives[kernel.collective];
      const double seconds = (kernel.end_us - kernel.begin_us) * 1e-6;
      of_key.shortest_s = of_key.calls == 0 ? seconds : std::min(of_key.shortest_s, seconds);
      of_key.seconds += seconds;
      ++of_key.calls;
      step.calls.push_back({kernel.collective, kernel.group, (kernel.begin_us - window.begin_us) * 1e-6,
                            (kernel.end_us - window.begin_us) * 1e-6});
    }
    pass_to(window.end_us, nullptr);
    std::vector<std::size_t> places(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (collectives[i].calls == 0 && collectives[i].exposed_s == 0) continue;
      places[i] = step.collectives.size();
      std::tie(collectives[i].operation, collectives[i].ranks, collectives[i].bytes) = keys_[i];
      step.collectives.push_back(collectives[i]);
    }
    for (CollectiveCall& call : step.calls) call.collective = places[call.collective];
    return step;
  }

  static void add_span(TracedStep& step, const StepWindow& window, StepPart part, double begin_us, double end_us) {
    if (end_us <= begin_us) return;
    part_of(step.parts, part) += (end_us - begin_us) * 1e-6;
    const double end_s = (end_us - window.begin_us) * 1e-6;
    if (!step.spans.empty() && step.spans.back().part == part)
      step.spans.back().end_s = end_s;
    else
      step.spans.push_back({part, (begin_us - window.begin_us) * 1e-6, end_s});
  }

  // `next`: the kernel that ends the gap; null: none was recorded.
  static void add_gap(TracedStep& step, const StepWindow& window, double begin_us, double end_us,
                      const GpuKernel* next) {
    const double launched_us = next == nullptr ? end_us : std::clamp(next->launch_us, begin_us, end_us);
    add_span(step, window, StepPart::host, begin_us, launched_us);
    add_span(step, window, StepPart::idle, launched_us, end_us);
  }

  static void add_running(TracedStep& step, const StepWindow& window, double begin_us, double end_us,
                          const std::multimap<double, const GpuKernel*>& running,
                          std::vector<StepCollective>& collectives) {
    const GpuKernel* first = running.begin()->second;
    for (const auto& [end, kernel] : running)
      if (kernel->part < first->part) first = kernel;
    add_span(step, window, first->part, begin_us, end_us);
    if (first->part == StepPart::communication) collectives[first->collective].exposed_s += (end_us - begin_us) * 1e-6;
  }

  std::map<std::int64_t, double> launches_us_;  ///< by correlation
  std::vector<StepWindow> steps_;               ///< on the processor
  std::vector<GpuKernel> kernels_;              ///< by begin
  std::vector<CollectiveKey> keys_;
};

}  // namespace

StepPart kernel_part(const std::string& name) {
  const std::string small = lower_case(name);
  if (has_any(small, {"flash", "fmha", "attention", "attn", "sdpa", "mha_", "compute_dot_do_o", "convert_dq"}))
    return StepPart::attention;
  if (has_any(small, {"gemm", "gemv", "cutlass", "nvjet", "cublas", "xmma", "splitk", "winograd", "wgrad", "dgrad",
                      "fprop", "convolve", "implicit_con", "scudnn", "triton_mm", "triton_bmm", "triton_tem", "cijk_"}))
    return StepPart::gemm;
  return StepPart::memory;
}

bool is_torch_trace(const std::string& text) {
  if (text.find("\"traceEvents\"") != std::string::npos) return true;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '[' && text.find("\"ph\"") != std::string::npos;
}

StepTrace read_step_trace(const std::string& text, const std::string& file) {
  const JsonDocument document = JsonDocument::parse(text, file);
  const StepTraceReader reader(document.root());
  if (!reader.has_steps())
    throw InputError(file + ": has no ProfilerStep; allowed: a trace with profiler.step() behind each iteration");
  if (!reader.has_kernels())
    throw InputError(file + ": has no kernel of a GPU; allowed: a trace with ProfilerActivity.CUDA");
  StepTrace trace;
  trace.file = file;
  trace.gpu = gpu_name(document.json());
  std::tie(trace.world_size, trace.rank) = world_size_and_rank(document.json());
  trace.steps = reader.steps();
  if (trace.steps.empty()) throw InputError(file + ": no kernel was launched in a ProfilerStep; allowed: a later step");
  return trace;
}

}  // namespace lockstep::calib
