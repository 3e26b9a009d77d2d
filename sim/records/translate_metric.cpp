// What a publication measures: its metric and its unit, in many words.
#include <algorithm>
#include <map>
#include <set>

#include "engine/base/text.hpp"
#include "sim/records/measure.hpp"
#include "sim/records/translate_parts.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

// A unit that is none of its metric's.
struct NoUnit {
  std::string why;
};

enum class Kind { rate, time, share, ratio, bandwidth, count };

struct Known {
  Metric metric;
  Kind kind;
  std::vector<const char*> names;  // words joined, without those of the unit
};

const std::vector<Known>& known_metrics() {
  static const std::vector<Known> all{
      {Metric::images_per_s, Kind::rate, {"images_per",       "image_per",        "imgs_per",     "img_per",
                                          "samples_per",      "sample_per",       "examples_per", "sequences_per",
                                          "sequence_per",     "sentences_per",    "throughput",   "training_throughput",
                                          "train_throughput", "total_throughput", "images",       "img",
                                          "samples",          "sequences",        "ips",          "speed",
                                          "training_speed",   "tokens_per",       "token_per",    "words_per",
                                          "iterations_per",   "steps_per",        "batches_per",  "it_per",
                                          "frames_per",       "frame_per",        "fps",          "ktokens_per",
                                          "tok_per",          "utterances_per",   "seq_per",      "sents_per"}},
      {Metric::iteration_s,
       Kind::time,
       {"iteration", "iteration_time", "step", "step_time", "time_per_iteration", "time_per_step", "batch_time",
        "time_per_batch", "per_iteration", "per_step", "mini_batch_time", "minibatch_time", "iter_time",
        "seconds_per_iteration", "seconds_per_step"}},
      {Metric::epoch_s,
       Kind::time,
       {"epoch", "epoch_time", "epoch_duration", "time_per_epoch", "per_epoch", "seconds_per_epoch"}},
      {Metric::training_s, Kind::time, {"training_time", "training", "train_time", "total_training_time"}},
      {Metric::time_to_accuracy_s,
       Kind::time,
       {"time_to_accuracy", "tta", "time_to_train", "time_to_target", "time_to_convergence", "time_to_solution"}},
      {Metric::speedup, Kind::ratio, {"speedup", "speed_up", "scaling", "scaling_speedup", "relative_speedup"}},
      {Metric::scaling_efficiency,
       Kind::share,
       {"scaling_efficiency", "efficiency", "parallel_efficiency", "weak_scaling_efficiency",
        "strong_scaling_efficiency", "scaling_factor", "efficiency_vs_ideal", "efficiency_vs_linear",
        "linear_scaling_efficiency"}},
      {Metric::iteration_time_increase, Kind::share, {"iteration_time_increase"}},
      {Metric::bus_bandwidth,
       Kind::bandwidth,
       {"allreduce_busbw", "all_reduce_busbw", "busbw", "bus_bandwidth", "bus_bw", "allreduce_bus_bandwidth",
        "all_reduce_bus_bandwidth"}},
      {Metric::algorithm_bandwidth,
       Kind::bandwidth,
       {"allreduce_algbw", "all_reduce_algbw", "algbw", "algorithm_bandwidth", "alg_bw", "allreduce_bandwidth",
        "all_reduce_bandwidth", "allreduce_algorithm_bandwidth"}},
      {Metric::all_reduce_s,
       Kind::time,
       {"allreduce", "all_reduce", "allreduce_time", "all_reduce_time", "allreduce_latency", "all_reduce_latency",
        "allreduce_seconds"}},
      {Metric::epochs_to_accuracy,
       Kind::count,
       {"epochs_to_accuracy", "epochs_to_target", "epochs_to_converge", "epochs"}},
  };
  return all;
}

const std::map<std::string, double>& time_units() {
  static const std::map<std::string, double> all{{"s", 1},
                                                 {"sec", 1},
                                                 {"secs", 1},
                                                 {"second", 1},
                                                 {"seconds", 1},
                                                 {"ms", 1e3},
                                                 {"msec", 1e3},
                                                 {"us", 1e6},
                                                 {"usec", 1e6},
                                                 {"ns", 1e9},
                                                 {"min", 1. / 60},
                                                 {"mins", 1. / 60},
                                                 {"minute", 1. / 60},
                                                 {"minutes", 1. / 60},
                                                 {"h", 1. / 3600},
                                                 {"hr", 1. / 3600},
                                                 {"hrs", 1. / 3600},
                                                 {"hour", 1. / 3600},
                                                 {"hours", 1. / 3600},
                                                 {"day", 1. / 86400},
                                                 {"days", 1. / 86400},
                                                 {"milliseconds", 1e3},
                                                 {"microseconds", 1e6}};
  return all;
}

// "samples/s/GPU" as "samples_per_s_per_GPU".
std::string with_per(const std::string& metric) {
  std::string text;
  for (char c : metric) text += c == '/' ? std::string("_per_") : std::string(1, c);
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "_") + word;
  return text;
}

// The unit at the end of a metric's name, which is taken off it: "step_time_ms" -> "ms".
std::string take_unit(std::vector<std::string>& words) {
  if (words.size() < 2 && (words.empty() || time_units().count(words.back()) == 0)) return "";
  static const std::set<std::string> others{"gbps", "gb", "gbs", "percent", "pct", "fraction"};
  const std::string last = words.back();
  if (time_units().count(last) == 0 && others.count(last) == 0) return "";
  words.pop_back();
  return last;
}

// "ms_per_batch" and "days_to_train" say the unit first: "time_per_batch" in ms.
std::string take_leading_unit(std::vector<std::string>& words) {
  if (words.size() < 3 || time_units().count(words[0]) == 0 || (words[1] != "per" && words[1] != "to")) return "";
  const std::string unit = words[0];
  words[0] = "time";
  return unit;
}

// "training_time_90_epochs", "speedup_vs_8_gpus": what it is of, or over, is looked for elsewhere.
void drop_condition(std::vector<std::string>& words) {
  const auto is_number = [](const std::string& word) {
    return word.find_first_not_of("0123456789") == std::string::npos;
  };
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& what = words[i + 1];
    const bool is_gpus = what == "gpu" || what == "gpus";
    if (!is_number(words[i]) || !(is_gpus || what == "epochs")) continue;
    const std::size_t first = i > 1 && (words[i - 1] == "vs" || words[i - 1] == "over") ? i - 1 : i;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(first), words.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    return;
  }
}

const Known* known_metric(const std::string& name) {
  for (const Known& known : known_metrics())
    for (const char* one : known.names)
      if (name == one) return &known;
  return nullptr;
}

std::string first_word(const std::string& unit) {
  std::string word = lower_case(unit.substr(0, unit.find_first_of(" (/,")));
  return word == "\xc2\xb5s" || word == "\xce\xbcs" ? "us" : word;
}

double of_time(const Record& record, const std::string& in_name) {
  const std::string word = record.unit.empty() ? in_name : first_word(record.unit);
  if (word.empty()) return 1;
  const auto found = time_units().find(word);
  if (found == time_units().end())
    throw NoUnit{"unit " + in_quotes(record.unit) + " is not one of time; known: s, ms, us, min, h"};
  return found->second;
}

// "s/B", "ns/B", "ms/MB".
double of_time_per_byte(const Record& record) {
  if (record.unit.empty()) return 1;
  const std::size_t slash = record.unit.find('/');
  const auto time = time_units().find(lower_case(record.unit.substr(0, slash)));
  const std::string bytes = slash == std::string::npos ? "" : lower_case(first_word(record.unit.substr(slash + 1)));
  static const std::map<std::string, double> sizes{{"b", 1}, {"byte", 1}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}};
  const auto size = sizes.find(bytes);
  if (time == time_units().end() || size == sizes.end())
    throw NoUnit{"unit " + in_quotes(record.unit) + " is not one of time per byte; known: s/B, ns/B, us/MB"};
  return time->second * size->second;
}

double of_bandwidth(const Record& record) {
  std::string unit;
  for (char c : record.unit.substr(0, record.unit.find_first_of("(,")))
    if (c != ' ') unit += c;
  if (unit.empty() || unit == "GB/s" || unit == "GBps" || unit == "GB/sec" || unit == "gb/s") return 1;
  if (unit == "MB/s" || unit == "MBps") return 1e3;
  if (unit == "GiB/s") return 1e9 / (1 << 30);
  if (unit == "Gb/s" || unit == "Gbps" || unit == "Gbit/s") return 8;
  if (unit == "B/s") return 1e9;
  if (unit == "TB/s") return 1e-3;
  throw NoUnit{"unit " + in_quotes(record.unit) + " of " + record.metric + "; known: GB/s, MB/s, GiB/s, Gb/s"};
}

// Of images/s: "images/s", "img/min", "sequences/s/GPU".
double of_rate(const Record& record, const std::string& in_name) {
  const std::string unit = lower_case(record.unit);
  double scale = 1;
  if (mentions(unit, "/min") || mentions(unit, "per min"))
    scale = 60;
  else if (mentions(unit, "/h") || mentions(unit, "per h"))
    scale = 3600;
  else if (mentions(unit, "/day"))
    scale = 86400;
  else if (unit.empty())
    scale = in_name.empty() ? 1 : 1 / time_units().at(in_name);
  else if (!mentions(unit, "/s") && !mentions(unit, "per s") && !mentions(unit, "ps"))
    throw NoUnit{"unit " + in_quotes(record.unit) + " of " + record.metric + "; known: images/s"};
  if (unit.rfind("k", 0) == 0 || (unit.empty() && mentions(record.metric, "ktok"))) scale /= 1e3;
  return scale;
}

double of_share(const Record& record, const std::string& in_name) {
  const bool is_percent =
      mentions(record.unit, "%") || mentions(record.unit, "percent") || in_name == "percent" || in_name == "pct";
  // Nobody publishes an efficiency of 90 as a fraction.
  const bool looks_like = record.unit.empty() && record.value && *record.value > 2;
  return is_percent || looks_like ? 100 : 1;
}

// "images_per_s_per_gpu", "per_gpu_throughput": taken off the name.
bool take_per_gpu(std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "per" && (words[i + 1] == "gpu" || words[i + 1] == "device")) {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i), words.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      return true;
    }
  return false;
}

struct NamedCollective {
  const char* name;  // squeezed
  Collective collective;
};

const std::vector<NamedCollective>& other_collectives() {
  static const std::vector<NamedCollective> all{{"reducescatter", Collective::reduce_scatter},
                                                {"allgather", Collective::all_gather},
                                                {"broadcast", Collective::broadcast},
                                                {"bcast", Collective::broadcast}};
  return all;
}

// "reduce_scatter_busbw" becomes "allreduce_busbw" and says which collective; "busbw" leaves it to the algorithm.
Collective take_collective(std::vector<std::string>& words, const std::string& algorithm) {
  for (const NamedCollective& named : other_collectives())
    for (std::size_t count : {std::size_t{1}, std::size_t{2}}) {
      if (words.size() < count || joined({words.begin(), words.begin() + long(count)}).size() > 16) continue;
      if (squeezed(joined({words.begin(), words.begin() + long(count)})) != named.name) continue;
      words.erase(words.begin() + 1, words.begin() + long(count));
      words[0] = "allreduce";
      return named.collective;
    }
  if (words.size() > 1 && words[0] == "reduce") {
    words[0] = "allreduce";
    return Collective::reduce;
  }
  static const std::set<std::string> open{"busbw", "bus_bandwidth", "bus_bw", "algbw", "algorithm_bandwidth", "alg_bw"};
  const std::string text = squeezed(algorithm);
  const bool is_all_reduce = text.empty() || text.find("allreduce") != std::string::npos;
  std::vector<std::string> without_unit = words;
  take_unit(without_unit);
  if (is_all_reduce || open.count(joined(without_unit)) == 0) return Collective::all_reduce;
  for (const char* other : {"alltoall", "sendrecv"})
    if (text.find(other) != std::string::npos)
      throw NoUnit{"algorithm " + in_quotes(algorithm) + ": not simulated for records"};
  for (const NamedCollective& named : other_collectives())
    if (text.find(named.name) != std::string::npos) return named.collective;
  return Collective::all_reduce;
}

// "latency" of a size and an all-reduce is its time; of anything else it may be that of an inference.
void name_latency(std::vector<std::string>& words, const Record& record) {
  const bool is_of_bytes = record.params_bytes > 0 && record.model.empty();
  if (!is_of_bytes || squeezed(record.algorithm + record.system).find("allreduce") == std::string::npos) return;
  if (!words.empty() && (words[0] == "latency" || words[0] == "time")) words.insert(words.begin(), "allreduce");
}

// "per_gpu", "iterations_per_s", "tokens": what is counted, and of how much of the machine.
void set_counted(Measure& measure, const Record& record, const std::vector<std::string>& words, bool named_per_gpu) {
  measure.is_per_gpu = named_per_gpu || says(record.unit, {"/gpu", "per gpu"});
  if (says(record.metric, {"token", "word"}) || says(record.unit, {"tok", "word"})) measure.counted = Counted::tokens;
  static const std::set<std::string> of_iterations{"steps", "batches", "it"};
  if (!words.empty() && (words[0].rfind("iteration", 0) == 0 || of_iterations.count(words[0]) > 0))
    measure.counted = Counted::iterations;
}

Measure known_measure(const Known& known, const Record& record, const std::vector<std::string>& words,
                      const std::string& unit, bool named_per_gpu) {
  Measure measure{known.metric};
  switch (known.kind) {
    case Kind::rate:
      measure.per_si = of_rate(record, unit);
      set_counted(measure, record, words, named_per_gpu);
      break;
    case Kind::time:
      measure.per_si = of_time(record, unit);
      break;
    case Kind::share:
      measure.per_si = of_share(record, unit);
      if (lower_case(record.unit) == "x" || lower_case(record.unit) == "times") measure = {Metric::speedup};
      break;
    case Kind::bandwidth:
      measure.per_si = of_bandwidth(record);
      break;
    case Kind::ratio:
      if (mentions(record.unit, "%")) measure = {Metric::scaling_efficiency, 100};
      break;
    case Kind::count:
      break;
  }
  return measure;
}

double bits_per_unit(const Record& record) {
  const std::string unit = lower_case(record.unit);
  if (unit.rfind("gb/s", 0) == 0 && record.unit[1] == 'B') return 8e9;
  if (unit.rfind("gb", 0) == 0) return 1e9;
  if (unit.rfind("mb", 0) == 0 && record.unit[1] != 'B') return 1e6;
  if (unit.empty() || unit.rfind("bit", 0) == 0) return 1;
  throw NoUnit{"unit " + in_quotes(record.unit) + " of " + record.metric + "; known: bit/s, Gbit/s, GB/s"};
}

// Metrics that are called by one name, and those of asynchronous workers.
Measure other_measure(const Record& record) {
  const std::string& metric = record.metric;
  if (metric == "train_seconds_per_5120_images") return {Metric::seconds_per_5120_images, of_time(record, "s")};
  if (metric == "comm_seconds") return {Metric::communication_s, of_time(record, "s")};
  if (metric == "alpha_s") return {Metric::alpha_s, of_time(record, "s")};
  if (metric == "beta_s_per_B") return {Metric::beta_s_per_byte, of_time_per_byte(record)};
  if (metric == "required_bandwidth" || metric == "bandwidth_for_linear")
    return {*find_choice<Metric>(metric), 1 / bits_per_unit(record)};
  for (Metric one : {Metric::speedup_vs_nccl, Metric::speedup_vs_horovod, Metric::images_per_s_nosync,
                     Metric::best_group_size, Metric::throughput_gain_tau, Metric::node_traffic,
                     Metric::iterations_to_converge, Metric::critical_batch, Metric::parameter_servers})
    if (metric == name_of(one)) return {one};
  return {};
}

Measure of_workers(const Record& record) {
  const std::string& metric = record.metric;
  if (mentions(metric, "staleness_") || (mentions(metric, "_staleness") && !mentions(metric, "error")))
    return {Metric::staleness};
  const std::optional<ArrivalSpec> arrival = arrival_in_texts(record);
  if (!arrival) return {};
  return {Metric::arrival, arrival->before_s > 0 && mentions(record.unit, "%") ? 100. : 1};
}

Measure measure_of(const Record& record) {
  if (const Measure other = other_measure(record); other.metric != Metric::unknown) return other;
  std::vector<std::string> words = words_of(with_per(record.metric));
  name_latency(words, record);
  const Collective collective = take_collective(words, record.algorithm);
  const bool named_per_gpu = take_per_gpu(words);
  drop_condition(words);
  const Known* known = known_metric(joined(words));
  std::string unit = known == nullptr ? take_unit(words) : "";
  if (known == nullptr) known = known_metric(joined(words));
  if (known == nullptr) {
    unit = take_leading_unit(words);
    known = known_metric(joined(words));
  }
  if (known == nullptr) return of_workers(record);
  Measure measure = known_measure(*known, record, words, unit, named_per_gpu);
  measure.collective = collective;
  return measure;
}

}  // namespace

Measure measure_in_texts(const Record& record) {
  try {
    Measure measure = measure_of(record);
    if (measure.metric == Metric::unknown)
      measure.why_not =
          "metric " + in_quotes(record.metric) + " is not predicted from records" + why_not_predicted(record.metric);
    return measure;
  } catch (const NoUnit& wrong) {
    Measure measure;
    measure.why_not = wrong.why;
    return measure;
  }
}

}  // namespace records
}  // namespace lockstep::sim
