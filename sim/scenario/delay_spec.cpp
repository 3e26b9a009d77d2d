#include "sim/scenario/delay_spec.hpp"

#include <filesystem>
#include <fstream>

namespace lockstep::sim {
namespace {

const Range kFactor{1e-6, 1e6};
const Range kSeconds{1e-9, 1e6};
constexpr std::size_t kMostSamples = 10'000'000;

// A factor, or seconds: "1.4 s".
double read_value(const JsonNode& node, bool in_seconds, Range factor = kFactor) {
  return in_seconds ? node.sourced_quantity(Dimension::time, {factor.low == 0 ? 0 : kSeconds.low, kSeconds.high})
                    : node.sourced_number(factor);
}

void read_lognormal(const JsonNode& node, DelaySpec& delay) {
  delay.scale = read_value(node.at("median"), delay.in_seconds);
  delay.shape = node.at("sigma").sourced_number({0, 10});
}

void read_pareto_tail(const JsonNode& node, DelaySpec& delay) {
  read_lognormal(node, delay);
  delay.tail_probability = node.at("tail_probability").sourced_number({1e-9, 0.5});
  delay.tail_index = node.at("tail_index").sourced_number({0.1, 1000});
}

// Numbers of a text file, apart by blanks, commas or lines.
std::vector<double> read_text_samples(const JsonNode& node, DelaySpec& delay) {
  const std::filesystem::path folder = std::filesystem::path(node.document().name()).parent_path();
  delay.samples_file = (folder / node.text()).string();
  std::ifstream file(delay.samples_file);
  if (!file) node.fail("cannot read " + delay.samples_file, "allowed: a text file of numbers, a .json array");
  std::vector<double> samples;
  for (double sample = 0; file >> std::ws && !file.eof();) {
    if (!(file >> sample) || !(sample >= kSeconds.low && sample <= kSeconds.high))
      node.fail(delay.samples_file + ": number " + std::to_string(samples.size() + 1) + " is none above 0",
                "allowed: numbers from 1e-9 to 1e6");
    samples.push_back(sample);
    if (samples.size() > kMostSamples) node.fail("too many samples", "allowed: at most 10000000");
    if (file.peek() == ',') file.get();
  }
  return samples;
}

void read_empirical(const JsonNode& node, DelaySpec& delay) {
  const JsonNode samples = node.at("samples");
  if (samples.is_string())
    delay.samples = read_text_samples(samples, delay);
  else
    for (const JsonNode& item : samples.items()) delay.samples.push_back(item.number({kSeconds.low, kSeconds.high}));
  if (delay.samples.empty()) samples.fail("no samples", "allowed: one or more numbers above 0");
  samples.document().note({samples.pointer(), delay.samples.size(), "assumed", "number of samples given"});
}

void read_percentiles(const JsonNode& node, DelaySpec& delay) {
  for (const JsonNode& item : node.items()) {
    item.keys({"at", "value"});
    const PercentileSpec point{item.at("at").sourced_number({1e-9, 1 - 1e-9}),
                               read_value(item.at("value"), delay.in_seconds)};
    if (!delay.percentiles.empty() && point.at <= delay.percentiles.back().at)
      item.at("at").fail("not in ascending order");
    if (!delay.percentiles.empty() && point.value < delay.percentiles.back().value)
      item.at("value").fail("less than the value before it", "allowed: values that rise with \"at\"");
    delay.percentiles.push_back(point);
  }
  if (delay.percentiles.size() < 2) node.fail("too few percentiles", "allowed: two or more");
}

}  // namespace

DelaySpec read_delay(const JsonNode& node) {
  DelaySpec delay;
  const std::string kind =
      node.at("distribution").choice({"none", "lognormal", "gamma", "pareto-tail", "empirical", "percentiles"});
  if (const auto unit = node.find("unit")) delay.in_seconds = unit->choice({"factor", "seconds"}) == "seconds";
  if (kind == "none") {
    node.keys({"distribution"});
  } else if (kind == "lognormal") {
    node.keys({"distribution", "unit", "includes_communication", "median", "sigma", "shift"});
    delay.kind = DelaySpec::Kind::lognormal;
    read_lognormal(node, delay);
  } else if (kind == "gamma") {
    node.keys({"distribution", "unit", "includes_communication", "scale", "shape", "shift"});
    delay.kind = DelaySpec::Kind::gamma;
    delay.scale = read_value(node.at("scale"), delay.in_seconds);
    delay.shape = node.at("shape").sourced_number({1e-2, 1e6});
  } else if (kind == "pareto-tail") {
    node.keys({"distribution", "unit", "includes_communication", "median", "sigma", "tail_probability", "tail_index",
               "shift"});
    delay.kind = DelaySpec::Kind::pareto_tail;
    read_pareto_tail(node, delay);
  } else if (kind == "empirical") {
    node.keys({"distribution", "unit", "includes_communication", "samples"});
    delay.kind = DelaySpec::Kind::empirical;
    read_empirical(node, delay);
  } else {
    node.keys({"distribution", "unit", "includes_communication", "percentiles"});
    delay.kind = DelaySpec::Kind::percentiles;
    read_percentiles(node.at("percentiles"), delay);
  }
  if (const auto included = node.find("includes_communication")) {
    delay.includes_communication = included->boolean();
    if (delay.includes_communication && !delay.in_seconds)
      included->fail("factors of the compute time cannot include communication", "allowed: with \"unit\": \"seconds\"");
  }
  if (const auto shift = node.find("shift")) delay.shift = read_value(*shift, delay.in_seconds, {0, kFactor.high});
  return delay;
}

}  // namespace lockstep::sim
