#include "sim/scenario/delay_spec.hpp"

#include <filesystem>
#include <fstream>

namespace lockstep::sim::scenario {
namespace {

const Range kFactor{1e-6, 1e6};
const Range kSeconds{1e-9, 1e6};
constexpr std::size_t kMostSamples = 10'000'000;

// Reads a factor, or seconds: "1.4 s".
double read_value(const JsonNode& node, bool in_seconds, Range factor = kFactor) {
  return in_seconds ? node.sourced_quantity(Dimension::time, {factor.low == 0 ? 0 : kSeconds.low, kSeconds.high})
                    : node.sourced_number(factor);
}

Json write_value(double value, bool in_seconds) {
  return in_seconds ? Json(quantity_text(value, Dimension::time)) : Json(value);
}

Json schema_of_value() {
  return {{"anyOf", Json::array({format_text::schema_of_sourced(format_text::schema_of(Range{0, kFactor.high})),
                                 format_text::schema_of_sourced(format_text::schema_of(Dimension::time))})}};
}

// Reads the numbers of a text file, separated by blanks, commas or lines.
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

void read_samples(const JsonNode& samples, DelaySpec& delay) {
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

using Format = ObjectFormat<DelaySpec>;

void add_value(Format& f, const std::string& key, double DelaySpec::*member, Range factor, const std::string& meaning) {
  auto field = f.custom(key, "number or time, **S**", "", schema_of_value());
  field.means(meaning);
  field.reads(
      [=](const JsonNode& node, DelaySpec& delay) { delay.*member = read_value(node, delay.in_seconds, factor); });
  field.writes([=](const DelaySpec& delay) { return write_value(delay.*member, delay.in_seconds); });
  field.unsaid_where([=](const DelaySpec& delay) { return delay.*member == DelaySpec().*member; });
}

void add_lognormal(Format& f) {
  add_value(f, "median", &DelaySpec::scale, kFactor, "of the distribution");
  f.number("sigma", &DelaySpec::shape, {0, 10}).means("of the logarithm");
}

void add_empirical(Format& f) {
  const Json numbers{{"type", "array"}, {"items", {{"type", "number"}}}};
  auto samples = f.custom("samples", "array, a `.json` file of one, or a text file of numbers", "",
                          {{"anyOf", Json::array({numbers, {{"type", "string"}}})}});
  samples.means("drawn with equal probability");
  samples.reads([](const JsonNode& node, DelaySpec& delay) { read_samples(node, delay); });
  samples.writes([](const DelaySpec& delay) { return Json(delay.samples); });
}

void add_percentiles(Format& f) {
  const Json point{
      {"type", "object"},
      {"properties",
       {{"at", format_text::schema_of_sourced(format_text::schema_of(Range{0, 1}))}, {"value", schema_of_value()}}},
      {"required", {"at", "value"}},
      {"additionalProperties", false}};
  auto field = f.custom("percentiles", "`[{\"at\", \"value\"}, ...]`", "", {{"type", "array"}, {"items", point}});
  field.means("ascending; a `pareto-tail` by least squares");
  field.reads([](const JsonNode& node, DelaySpec& delay) { read_percentiles(node, delay); });
  field.writes([](const DelaySpec& delay) {
    Json list = Json::array();
    for (const PercentileSpec& one : delay.percentiles)
      list.push_back({{"at", one.at}, {"value", write_value(one.value, delay.in_seconds)}});
    return list;
  });
}

Format delay_format(DelaySpec::Kind kind) {
  using Kind = DelaySpec::Kind;
  Format f("delay, " + name_of(kind));
  auto distribution = f.custom("distribution", "text", "", {{"const", name_of(kind)}});
  distribution.reads([kind](const JsonNode&, DelaySpec& delay) { delay.kind = kind; });
  distribution.writes([kind](const DelaySpec&) { return Json(name_of(kind)); });
  if (kind == Kind::none) return f;
  f.either("unit", &DelaySpec::in_seconds, "factor", "seconds")
      .optional("`factor`")
      .means("of the step's compute time, or times of the whole step");
  f.boolean("includes_communication", &DelaySpec::includes_communication)
      .optional("`false`")
      .means("seconds as seen from outside, so that messages carry no bytes");
  if (kind == Kind::lognormal || kind == Kind::pareto_tail) add_lognormal(f);
  if (kind == Kind::gamma) {
    add_value(f, "scale", &DelaySpec::scale, kFactor, "of the distribution");
    f.number("shape", &DelaySpec::shape, {1e-2, 1e6}).means("1: exponential");
  }
  if (kind == Kind::pareto_tail) {
    f.number("tail_probability", &DelaySpec::tail_probability, {1e-9, 0.5}).means("of the slowest share");
    f.number("tail_index", &DelaySpec::tail_index, {0.1, 1000}).means("it falls as x^-index");
  }
  if (kind == Kind::empirical) add_empirical(f);
  if (kind == Kind::percentiles) add_percentiles(f);
  if (kind == Kind::lognormal || kind == Kind::gamma || kind == Kind::pareto_tail) {
    const Range shift{0, kFactor.high};
    auto field = f.custom("shift", "number or time, **S**", "", schema_of_value());
    field.optional("0").means("added to what is drawn");
    field.reads(
        [shift](const JsonNode& node, DelaySpec& delay) { delay.shift = read_value(node, delay.in_seconds, shift); });
    field.writes([](const DelaySpec& delay) { return write_value(delay.shift, delay.in_seconds); });
    field.unsaid_where([](const DelaySpec& delay) { return delay.shift == 0; });
  }
  f.then([](const JsonNode& node, DelaySpec& delay) {
    if (delay.includes_communication && !delay.in_seconds)
      node.at("includes_communication")
          .fail("factors of the compute time cannot include communication", "allowed: with \"unit\": \"seconds\"");
  });
  return f;
}

}  // namespace

DelaySpec read_delay(const JsonNode& node) {
  return delay_format(read_choice<DelaySpec::Kind>(node.at("distribution"))).read(node);
}

Json to_json(const DelaySpec& delay) {
  return delay_format(delay.kind).write(delay);
}

std::string delay_table(DelaySpec::Kind kind) {
  return delay_format(kind).table();
}

Json delay_schema() {
  Json kinds = Json::array();
  for (const Choice<DelaySpec::Kind>& kind : choices_of(DelaySpec::Kind()))
    kinds.push_back(delay_format(kind.value).schema());
  return {{"anyOf", kinds}};
}

}  // namespace lockstep::sim::scenario
