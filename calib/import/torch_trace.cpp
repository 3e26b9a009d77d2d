#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "calib/import/sound.hpp"
#include "calib/import/trace_events.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace lockstep::calib {
namespace {

// A range on a CPU thread, times in microseconds as the trace has them.
struct Interval {
  double begin_us;
  double end_us;
  std::string name;
  std::int64_t sequence = -1;  ///< of an operator: shared by a forward operator and its backward
};

using Thread = std::string;
Thread thread_of(const Json& event) {
  return event.value("pid", Json()).dump() + "/" + event.value("tid", Json()).dump();
}

// Ranges of one thread, which nest. Traces have hundreds of thousands, so that each knows the one around it.
class Ranges {
 public:
  void add(const Interval& range) { ranges_.push_back(range); }
  /// When all have been added.
  void nest() {
    std::stable_sort(ranges_.begin(), ranges_.end(), [](const Interval& a, const Interval& b) {
      return a.begin_us != b.begin_us ? a.begin_us < b.begin_us : a.end_us > b.end_us;
    });
    around_.assign(ranges_.size(), -1);
    int open = -1;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      while (open >= 0 && ranges_[static_cast<std::size_t>(open)].end_us < ranges_[i].begin_us)
        open = around_[static_cast<std::size_t>(open)];
      around_[i] = open;
      open = static_cast<int>(i);
    }
  }
  /// The innermost range that contains the moment; null where no range does.
  const Interval* innermost(double at_us) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), at_us,
                                        [](double moment, const Interval& range) { return moment < range.begin_us; });
    for (int i = static_cast<int>(after - ranges_.begin()) - 1; i >= 0; i = around_[static_cast<std::size_t>(i)])
      if (ranges_[static_cast<std::size_t>(i)].end_us >= at_us) return &ranges_[static_cast<std::size_t>(i)];
    return nullptr;
  }
  const std::vector<Interval>& all() const { return ranges_; }

 private:
  std::vector<Interval> ranges_;
  std::vector<int> around_;  // index of the innermost range that had begun before and had not ended, -1 for none
};

// Takes the part after the colon of "nn.Module: Conv2d_3" or "layer: conv1".
std::optional<std::string> module_of(const std::string& name) {
  for (const std::string prefix : {"nn.Module: ", "layer: "})
    if (name.compare(0, prefix.size(), prefix) == 0) return name.substr(prefix.size());
  return std::nullopt;
}

Json collective_key(const TracedCall& call) {
  return {
      {"operation", call.operation}, {"library", "nccl"}, {"ranks", call.ranks}, {"nodes", 1}, {"bytes", call.bytes}};
}

struct Launch {
  Thread thread;
  double at_us;
};

struct Kernel {
  double duration_us;
  std::int64_t correlation;
};

class TorchTrace {
 public:
  void read(const JsonNode& root) {
    const CompleteEvents complete = complete_events(root);
    events_without_time_ = complete.without_time;
    resolution_us_ = complete.resolution_us;
    for (const TraceEvent& event : complete.events) take(event);
    const bool has_gpu = root.is_object() && root.has("deviceProperties") && !root.json()["deviceProperties"].empty();
    is_of_cpu_ = kernels_.empty() && launches_.empty() && !has_gpu;  // a GPU's may have been left out
    if (is_of_cpu_) take_operators();
    for (auto& [thread, modules] : modules_) modules.nest();
    for (auto& [thread, operators] : operators_) {
      operators.nest();
      for (const Interval& range : operators.all())
        if (range.name.find("Backward") == std::string::npos && range.name.find("autograd") == std::string::npos)
          forward_of_.try_emplace(range.sequence, thread, range.begin_us);
    }
  }

  // Seconds of (module, pass), over all steps.
  std::map<std::pair<std::string, std::string>, double> totals(std::vector<std::string>& unplaced) const {
    std::map<std::pair<std::string, std::string>, double> seconds;
    double lost_us = 0, all_us = 0;
    for (const Kernel& kernel : kernels_) {
      if (!is_in_step(kernel)) continue;
      all_us += kernel.duration_us;
      const auto place = place_of(kernel);
      if (place)
        seconds[*place] += kernel.duration_us * 1e-6;
      else
        lost_us += kernel.duration_us;
    }
    if (lost_us > 0)
      unplaced.push_back(std::to_string(static_cast<int>(100 * lost_us / all_us + 0.5)) + " % of the " +
                         (is_of_cpu_ ? "operators'" : "GPU") +
                         " time belongs to no module (updates, data, communication)");
    return seconds;
  }

  /// Steps of the profiler; without those as many as the module that ran least often did.
  int steps() const {
    if (has_steps()) return static_cast<int>(steps_.size());
    std::map<std::string, int> runs;
    for (const auto& [thread, modules] : modules_)
      for (const Interval& range : modules.all()) ++runs[range.name];
    int least = 0;
    for (const auto& [name, count] : runs) least = least == 0 ? count : std::min(least, count);
    return std::max(1, least);
  }
  bool has_steps() const { return !steps_.empty(); }
  /// No kernel of a GPU: operators are what takes time.
  bool is_of_cpu() const { return is_of_cpu_; }
  /// Seconds from each step's begin to the next one's; of a step that no other follows its own.
  std::vector<double> iteration_seconds() const {
    std::map<double, double> ends_us;  // by begin
    for (const auto& [name, step] : steps_) ends_us[step.begin_us] = step.end_us;
    std::vector<double> seconds;
    for (auto step = ends_us.begin(); step != ends_us.end(); ++step) {
      const auto next = std::next(step);
      const double length_us = step->second - step->first;
      // One that was not recorded in between leaves a gap.
      const bool follows = next != ends_us.end() && next->first - step->second < 0.5 * length_us;
      if (follows || ends_us.size() == 1) seconds.push_back((follows ? next->first - step->first : length_us) * 1e-6);
    }
    return seconds;
  }
  const std::vector<Sample>& collectives() const { return collectives_; }
  /// Events whose "ts" is missing or cannot be a time in microseconds.
  int events_without_time() const { return events_without_time_; }

 private:
  // Categories with a capital are those of PyTorch 1.8 to 1.11.
  void take(const TraceEvent& traced) {
    const Json& event = *traced.json;
    const double begin = traced.begin_us, duration = traced.duration_us, until = begin + duration + resolution_us_;
    const std::string category = text_or(event, "cat", ""), name = text_or(event, "name", "");
    const Json args = event.value("args", Json::object());
    if (category == "kernel" || category == "Kernel") {
      kernels_.push_back({duration, static_cast<std::int64_t>(number_or(args, "correlation", -1))});
      if (const auto call = collective_of(args))
        collectives_.push_back({"collective", collective_key(*call), {duration * 1e-6}, "imported", "", {}, {}});
    } else if (is_cuda_api_category(category)) {
      const auto correlation = static_cast<std::int64_t>(number_or(args, "correlation", -1));
      if (correlation >= 0) launches_.try_emplace(correlation, Launch{thread_of(event), begin});
    } else if (category == "cpu_op" || category == "Operator") {
      const auto sequence = static_cast<std::int64_t>(number_or(args, "Sequence number", -1));
      all_operators_[thread_of(event)].push_back({begin, begin + duration, name, sequence});
      if (sequence >= 0) operators_[thread_of(event)].add({begin, until, name, sequence});
    }
    if (profiler_step(event)) steps_[name] = {begin, begin + duration, name};
    if (category == "user_annotation" || category == "python_function")
      if (const auto module = module_of(name)) modules_[thread_of(event)].add({begin, until, *module});
  }

  // On a processor an operator that no other contains works from its begin to its end, as a kernel that it launched.
  void take_operators() {
    for (auto& [thread, operators] : all_operators_) {
      std::stable_sort(operators.begin(), operators.end(), [](const Interval& a, const Interval& b) {
        return a.begin_us != b.begin_us ? a.begin_us < b.begin_us : a.end_us > b.end_us;
      });
      double until_us = -1;
      for (const Interval& range : operators) {
        // By its middle: times since 1970 are rounded to 0.25 us, so that neighbours may seem to overlap.
        if ((range.begin_us + range.end_us) / 2 < until_us) continue;
        until_us = range.end_us;
        const auto number = static_cast<std::int64_t>(launches_.size());
        launches_[-2 - number] = {thread, range.begin_us};
        kernels_.push_back({range.end_us - range.begin_us, -2 - number});
      }
    }
  }

  // Assigns a kernel to a step by its launch, in any thread, because it may run later. Kernels before the first step
  // belong to no step, nor do kernels in a gap between two recorded steps.
  bool is_in_step(const Kernel& kernel) const {
    if (steps_.empty()) return true;
    const auto launch = launches_.find(kernel.correlation);
    if (launch == launches_.end()) return true;
    const double from_us = launch->second.at_us, to_us = from_us - resolution_us_;
    return std::any_of(steps_.begin(), steps_.end(), [&](const auto& step) {
      return from_us >= step.second.begin_us && to_us <= step.second.end_us;
    });
  }

  const Interval* module_at(const Thread& thread, double at_us) const {
    const auto found = modules_.find(thread);
    return found == modules_.end() ? nullptr : found->second.innermost(at_us);
  }

  std::optional<std::pair<std::string, std::string>> place_of(const Kernel& kernel) const {
    const auto launch = launches_.find(kernel.correlation);
    if (launch == launches_.end()) return std::nullopt;
    const auto& [thread, at_us] = launch->second;
    if (const Interval* module = module_at(thread, at_us)) return std::make_pair(module->name, std::string("forward"));
    const auto operators = operators_.find(thread);
    if (operators == operators_.end()) return std::nullopt;
    // Backward: the innermost enclosing operator with a sequence number leads to its forward operator.
    const Interval* best = operators->second.innermost(at_us);
    if (!best) return std::nullopt;
    const auto forward = forward_of_.find(best->sequence);
    if (forward == forward_of_.end()) return std::nullopt;
    const Interval* module = module_at(forward->second.first, forward->second.second);
    if (!module) return std::nullopt;
    return std::make_pair(module->name, std::string("backward"));
  }

  std::vector<Kernel> kernels_;
  std::vector<Sample> collectives_;  ///< one for each call
  std::map<std::int64_t, Launch> launches_;
  std::map<Thread, Ranges> operators_;  ///< those with a sequence number
  std::map<Thread, std::vector<Interval>> all_operators_;
  bool is_of_cpu_ = false;
  std::map<Thread, Ranges> modules_;
  std::map<std::int64_t, std::pair<Thread, double>> forward_of_;  ///< sequence number -> where its forward ran
  std::map<std::string, Interval> steps_;
  int events_without_time_ = 0;
  double resolution_us_ = 0;  ///< of times as doubles, 0.25 us since 1970: a launch may seem to be that late
};

// "Conv2d_3": type and number, which counts modules in the order in which they ran first.
std::optional<std::pair<std::string, int>> numbered(const std::string& module) {
  const std::size_t bar = module.rfind('_');
  if (bar == std::string::npos || bar + 1 == module.size() || bar + 7 < module.size()) return std::nullopt;
  for (std::size_t i = bar + 1; i < module.size(); ++i)
    if (module[i] < '0' || module[i] > '9') return std::nullopt;
  return std::make_pair(module.substr(0, bar), std::stoi(module.substr(bar + 1)));
}

bool is_known_model(const std::string& name) {
  try {
    model::zoo_graph(name);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// Maps modules of a trace to layers of the built-in model, in order, for types with equal counts. If convolutions or
// fully-connected layers differ in number, returns nothing and adds the reason to `said`.
std::map<std::string, std::string> matched_layers(const std::string& model_name, const std::set<std::string>& modules,
                                                  std::vector<std::string>& said) {
  static const std::map<std::string, model::LayerKind> kinds{{"Conv2d", model::LayerKind::conv},
                                                             {"Linear", model::LayerKind::fc},
                                                             {"BatchNorm2d", model::LayerKind::batch_norm},
                                                             {"ReLU", model::LayerKind::relu},
                                                             {"MaxPool2d", model::LayerKind::max_pool},
                                                             {"AvgPool2d", model::LayerKind::avg_pool},
                                                             {"AdaptiveAvgPool2d", model::LayerKind::global_avg_pool},
                                                             {"Dropout", model::LayerKind::dropout}};
  const model::Graph graph = model::zoo_graph(model_name);
  std::map<std::string, std::string> names;
  for (const auto& [type, kind] : kinds) {
    std::map<int, std::string> ran;
    for (const std::string& module : modules)
      if (const auto known = numbered(module); known && known->first == type) ran[known->second] = module;
    std::vector<std::string> layers;
    for (const model::Layer& layer : graph.layers)
      if (layer.kind == kind) layers.push_back(layer.name);
    if (ran.size() == layers.size()) {
      std::size_t next = 0;
      for (const auto& [number, module] : ran) names[module] = layers[next++];
    } else if (kind == model::LayerKind::conv || kind == model::LayerKind::fc) {
      said.push_back(std::to_string(ran.size()) + " modules " + type + ", and " + model_name + " has " +
                     std::to_string(layers.size()) + " such layers: no times by layer");
      return {};
    }
  }
  return names;
}

// Calls of the same size are a series.
void add_collectives(const std::vector<Sample>& calls, const std::string& source, std::vector<Sample>& samples) {
  std::map<std::string, std::size_t> index;
  for (const Sample& call : calls) {
    const auto [entry, is_new] = index.try_emplace(call.id(), samples.size());
    if (is_new) {
      samples.push_back(call);
      samples.back().source = source;
    } else {
      samples[entry->second].seconds.push_back(call.seconds[0]);
    }
  }
}

// Steps alone are iterations; with others they hold the exchange, too.
Sample steps_of(const TorchTrace& trace, const TorchTraceOptions& options, int ranks, const std::string& name) {
  Sample sample;
  sample.probe = ranks > 1 ? "step" : "iteration";
  sample.key = {{"model", options.model}, {"precision", options.precision}};
  if (ranks > 1)
    sample.key.update({{"how", "traced"}, {"ranks", ranks}, {"nodes", 1}});
  else
    sample.key.update({{"learners", 1}, {"devices", 1}});
  sample.key["batch"] = options.batch;
  sample.seconds = trace.iteration_seconds();
  sample.kind = "imported";
  sample.source = name + ", ProfilerStep";
  return sample;
}

}  // namespace

Imported import_torch_trace(const std::string& text, const std::string& name, const TorchTraceOptions& options) {
  if (options.model.empty() || options.batch < 1 || options.precision.empty())
    throw InputError(name +
                     ": a trace does not tell model, batch and precision; allowed: give them (--model, --batch, "
                     "--precision)");
  const JsonDocument document = JsonDocument::parse(text, name);
  TorchTrace trace;
  trace.read(document.root());
  Imported result;
  std::vector<std::string> unplaced;
  const int steps = trace.steps();
  const auto totals = trace.totals(unplaced);
  std::set<std::string> modules;
  for (const auto& [place, seconds] : totals) modules.insert(place.first);
  // A model that only the trace describes keeps its own module names.
  const bool is_known = is_known_model(options.model);
  const std::map<std::string, std::string> names = is_known && !modules.empty()
                                                       ? matched_layers(options.model, modules, unplaced)
                                                       : std::map<std::string, std::string>();
  for (const auto& [place, seconds] : totals) {
    const auto name_of_model = names.find(place.first);
    if (is_known && name_of_model == names.end()) continue;
    Sample sample;
    sample.probe = "layer";
    sample.key = {{"model", options.model},
                  {"layer", is_known ? name_of_model->second : place.first},
                  {"pass", place.second},
                  {"precision", options.precision},
                  {"batch", options.batch}};
    sample.seconds = {seconds / steps};
    sample.kind = "imported";
    sample.source = name + ", mean of " + std::to_string(steps) + " steps";
    result.samples.push_back(sample);
  }
  if (trace.events_without_time() > 0)
    unplaced.push_back(std::to_string(trace.events_without_time()) +
                       " events are left out: their \"ts\" is missing, or no time in microseconds");
  if (!trace.has_steps() && steps > 1)
    unplaced.push_back("no ProfilerStep; taken as " + std::to_string(steps) + " steps, for as often its modules ran");
  const Json& root = document.json();
  const int ranks = world_size_and_rank(root).first;
  const Sample whole = steps_of(trace, options, ranks, name);
  if (!whole.seconds.empty() && whole.median_s() > 0) result.samples.push_back(whole);
  if (ranks > 1 && trace.has_steps())
    unplaced.push_back("steps of " + std::to_string(ranks) +
                       " processes hold their exchange: they are no iterations; trace a process alone for those");
  add_collectives(trace.collectives(), name, result.samples);
  for (const std::string& why : unplaced) result.refused.push_back(name + ": " + why);
  if (result.samples.empty())
    throw InputError(
        name +
        ": no ProfilerStep and no GPU kernel or operator of a module; allowed: a PyTorch profiler trace with "
        "profiler.step() behind each iteration, or with modules (with_stack=True, or record_function "
        "ranges \"layer: NAME\")");
  result.device.name = gpu_name(root);
  if (result.device.name.empty()) result.device.name = kUnknownGpu;
  result.device.kind = "imported";
  result.device.count = ranks;
  return sound(result, name);
}

}  // namespace lockstep::calib
