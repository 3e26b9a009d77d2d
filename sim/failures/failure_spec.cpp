#include "sim/failures/failure_spec.hpp"

#include <algorithm>
#include <tuple>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/failures/spot_run.hpp"

namespace lockstep::sim::failures {
namespace {

constexpr double kGpusOfRate = 8;  // GPUs per node in the published failure rates

Json published(const Json& value, const char* source) {
  return {{"value", value}, {"kind", "published"}, {"source", source}};
}

using Format = ObjectFormat<FailureSpec>;

Format::Field optional_quantity(Format& f, const char* key, std::optional<double> FailureSpec::*member,
                                Dimension dimension, Range range) {
  const char* const type = dimension == Dimension::time ? "time, **S**" : "bandwidth, **S**";
  Format::Field field = f.custom(key, type, format_text::range_of(range, dimension),
                                 format_text::schema_of_sourced(format_text::schema_of(dimension)));
  field.reads([=](const JsonNode& node, FailureSpec& spec) { spec.*member = node.sourced_quantity(dimension, range); });
  field.writes(
      [=](const FailureSpec& spec) { return spec.*member ? Json(quantity_text(*(spec.*member), dimension)) : Json(); });
  return field;
}

// Returns the rate at which losses of spot nodes lose work. It is 0 if the warning is long enough for a checkpoint.
double unwarned_rate(const Availability& trace, int nodes, const FailureProcess& process) {
  const double holding_s = trace.notice_s >= process.checkpoint_s ? 0 : mean_holding_s(trace, nodes);
  return holding_s > 0 ? 1 / holding_s : 0;
}

}  // namespace

const ObjectFormat<FailureSpec>& failures_format() {
  static const ObjectFormat<FailureSpec> format = [] {
    using Spec = FailureSpec;
    ObjectFormat<Spec> f("failures");
    f.number("per_node_day", &Spec::per_node_day, {0, 10})
        .otherwise(published(0.00379,
                             "Llama 3 (arXiv 2407.21783): 419 unexpected interruptions in 54 days of 16,384 H100, 8 to "
                             "a node"))
        .means(
            "interruptions of the job for each of its nodes and days; a node of more than 8 GPUs counts as GPUs / 8 "
            "nodes");
    f.quantity("restart", &Spec::restart_s, Dimension::time, {0, 1e6})
        .otherwise(published("15 min", "MegaScale (NSDI 2024): recovered within 15 minutes of an interruption"))
        .means(
            "from an interruption to useful work: noticing, replacing, starting; loading the checkpoint comes on top");
    f.quantity("repair", &Spec::repair_s, Dimension::time, {0, 1e8})
        .assumed("1 h", "until the provider fills the place of a failed node, or it is repaired")
        .means("until the place of a failed node is filled; without a spare the job waits for it");
    f.whole("spares", &Spec::spares, 0, 1 << 20)
        .otherwise(0)
        .means("nodes that stand by for failed ones; they are paid for");
    f.quantity("checkpoint_bandwidth", &Spec::checkpoint_bandwidth_bytes_per_s, Dimension::bandwidth, {1e6, 1e14})
        .assumed("2 GB/s", "of a node to a parallel file system")
        .means(
            "of a node to the storage, of more than 8 GPUs as of GPUs / 8 nodes: all nodes write their part of weights "
            "and optimizer state, and read it back");
    optional_quantity(f, "storage_bandwidth", &Spec::storage_bandwidth_bytes_per_s, Dimension::bandwidth, {1e6, 1e16})
        .optional("never the limit")
        .means("of the storage for all nodes together");
    optional_quantity(f, "checkpoint_interval", &Spec::checkpoint_interval_s, Dimension::time, {1e-3, 1e8})
        .optional("the best one")
        .means("useful work between two checkpoints");
    auto factor_of_time =
        f.custom("calendar_factor", "number, **S**", "0.01 to 100",
                 format_text::schema_of_sourced({{"type", "number"}, {"minimum", 0.01}, {"maximum", 100}}));
    factor_of_time.reads([](const JsonNode& node, Spec& spec) {
      spec.calendar_factor = node.sourced_number({0.01, 100});
    });
    factor_of_time.writes(
        [](const Spec& spec) { return spec.calendar_factor != 1 ? Json(spec.calendar_factor) : Json(); });
    factor_of_time.optional("1").means("multiplies the time of the iterations");
    for (const auto& [key, member, meaning] :
         {std::tuple{
              "calendar_low", &Spec::calendar_low,
              "lower end of the 80 % interval of the calendar time, divided by the prediction; that of the iterations "
              "counts if it is lower"},
          std::tuple{"calendar_high", &Spec::calendar_high,
                     "upper end of that interval, divided by the prediction; that of the iterations counts if it is "
                     "higher"}}) {
      auto factor = f.custom(key, "number, **S**", "0.01 to 100",
                             format_text::schema_of_sourced({{"type", "number"}, {"minimum", 0.01}, {"maximum", 100}}));
      factor.reads([member = member](const JsonNode& node, Spec& spec) {
        spec.*member = node.sourced_number({0.01, 100});
      });
      factor.writes([member = member](const Spec& spec) { return spec.*member ? Json(*(spec.*member)) : Json(); });
      factor.optional("from the interval of the iterations").means(meaning);
    }
    auto availability = f.custom("availability", "text or object", "a `.json` file beside the plan",
                                 {{"anyOf", {{{"type", "string"}, {"pattern", "\\.json$"}}, availability_schema()}}});
    availability.reads([](const JsonNode& node, Spec& spec) {
      spec.availability = availability_format().read(node);
      node.document().note(
          {node.pointer(), spec.availability->name, spec.availability->kind, spec.availability->source});
    });
    availability.writes(
        [](const Spec& spec) { return spec.availability ? availability_format().write(*spec.availability) : Json(); });
    availability.optional("nodes are there from first to last")
        .means("when spot nodes are there: a file of [intervals](#spot-nodes), or its content");
    return f;
  }();
  return format;
}

Json parse_storage_bandwidth(const std::string& option, const std::string& written) {
  const std::string per_node = " per node";
  std::string rate = written;
  const std::size_t at = lower_case(written).rfind(per_node);
  const bool is_of_node = at != std::string::npos && at + per_node.size() == written.size();
  if (is_of_node) rate = written.substr(0, at);
  double bytes_per_s = 0;
  const std::string wrong = parse_quantity_or_explain(rate, Dimension::bandwidth, bytes_per_s);
  const Range limits = is_of_node ? Range{1e6, 1e14} : Range{1e6, 1e16};
  if (!wrong.empty() || bytes_per_s < limits.low || bytes_per_s > limits.high)
    throw InputError(
        option + (option.empty() ? "" : " ") + in_quotes(written) + ": " +
        (wrong.empty() ? (is_of_node ? "outside 1 MB/s to 100 TB/s" : "outside 1 MB/s to 10 PB/s") : wrong) +
        "; write the storage's bandwidth for all nodes, such as \"200 GB/s\", or \"5 GB/s per node\"");
  return {{is_of_node ? "checkpoint_bandwidth" : "storage_bandwidth",
           {{"value", rate}, {"kind", "assumed"}, {"source", option + " " + written}}}};
}

Json failures_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", "lockstep/failures/1"},
              {"description", "Interruptions of a training: the object `failures` of a plan."}};
  schema.update(failures_format().schema());
  return schema;
}

FailureProcess process_of(const FailureSpec& spec, const FailingJob& job) {
  FailureProcess process;
  const double nodes = job.nodes * std::max(1.0, job.gpus_per_node / kGpusOfRate);
  const double rate = spec.per_node_day * nodes / kDay_s;
  process.mttf_s = rate > 0 ? 1 / rate : 0;
  double bandwidth = spec.checkpoint_bandwidth_bytes_per_s * nodes;
  if (spec.storage_bandwidth_bytes_per_s) bandwidth = std::min(bandwidth, *spec.storage_bandwidth_bytes_per_s);
  process.checkpoint_s = job.state_bytes / bandwidth;
  process.restart_s = spec.restart_s + process.checkpoint_s;
  process.repair_s = spec.repair_s;
  process.spares = spec.spares;
  const double losses = rate + (spec.availability ? unwarned_rate(*spec.availability, job.nodes, process) : 0);
  if (spec.checkpoint_interval_s)
    process.interval_s = *spec.checkpoint_interval_s;
  else
    process.interval_s = losses > 0 ? best_interval_s(1 / losses, process.checkpoint_s) : kDay_s;
  process.interval_s = std::max(process.interval_s, job.iteration_s);
  return process;
}

FailingTraining predict_failing_training(const FailureSpec& spec, const FailureProcess& process, int nodes,
                                         double useful_s) {
  const Goodput left = goodput(process);
  FailingTraining training;
  if (spec.availability) {
    const SpotRuns runs = spot_runs(*spec.availability, process, nodes, useful_s);
    training.wall_s = runs.mean.wall_s;
    training.shortest_s = runs.shortest_s;
    training.longest_s = runs.longest_s;
    training.held_s = runs.mean.held_s;
    training.spot_interruptions = runs.mean.interruptions;
  } else {
    training.wall_s = training.shortest_s = training.longest_s = training.held_s = useful_s / left.share;
  }
  training.interruptions = training.spot_interruptions;
  if (process.mttf_s > 0) training.interruptions += training.held_s * (1 - left.of_waiting) / process.mttf_s;
  return training;
}

std::string why_never(const Availability& trace, int nodes) {
  if (const int most = trace.most_nodes(); most < nodes)
    return "needs " + std::to_string(nodes) + " nodes at once; " + trace.name + " has at most " + std::to_string(most);
  return trace.name + " never has " + std::to_string(nodes) + " nodes for long enough to restart and keep some work";
}

}  // namespace lockstep::sim::failures
