#include "sim/scenario/published_format.hpp"

#include <algorithm>

#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
namespace {

bool is_named(const std::vector<Variant>& variants, const std::string& name) {
  return std::any_of(variants.begin(), variants.end(), [&](const Variant& v) { return v.name == name; });
}

std::optional<Dimension> dimension_of(PublishedMetric metric) {
  switch (metric) {
    case PublishedMetric::scaling_efficiency:
    case PublishedMetric::throughput_gain:
      return std::nullopt;
    case PublishedMetric::samples_per_s:
      return Dimension::rate;
    case PublishedMetric::iteration:
    case PublishedMetric::time_to_accuracy:
      break;
  }
  return Dimension::time;
}

double read_value(const JsonNode& node, PublishedMetric metric) {
  if (metric == PublishedMetric::scaling_efficiency) return node.number({1e-6, 10});
  if (metric == PublishedMetric::throughput_gain) return node.number({-1, 1000});
  return node.quantity(*dimension_of(metric), {1e-9, 1e12});
}

Json write_value(const PublishedSpec& result) {
  const std::optional<Dimension> dimension = dimension_of(result.metric);
  return dimension ? Json(quantity_text(result.value, *dimension)) : Json(result.value);
}

}  // namespace

const ObjectFormat<PublishedSpec>& published_format() {
  using Spec = PublishedSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("published");
    f.whole("gpus", &Spec::gpus, 1, kMostGpus)
        .means("GPU count; the entry is skipped where this count is not predicted");
    f.choice("metric", &Spec::metric)
        .means(
            "what was published. `throughput_gain`: samples/s over those of the variant `over` at the "
            "same GPU count, minus 1");
    auto value = f.custom("value", "by metric: number 1e-6 to 10; time; rate; time; number -1 to 1000",
                          "1e-9 to 1e12 s or 1/s", {{"type", {"number", "string"}}});
    value.means("plain, without `kind`");
    value.reads([](const JsonNode& node, Spec& result) { result.value = read_value(node, result.metric); });
    value.writes(write_value);
    f.text("over", &Spec::over)
        .optional("required for `throughput_gain`")
        .means("the variant that it is compared with");
    f.text("source", &Spec::source).means("where it was published");
    f.boolean("used_for_fit", &Spec::is_fitted)
        .optional("`false`")
        .means("marks the row as fitted: a constant of the scenario was chosen to meet it");
    auto variant = f.custom("variant", "text", "name of a variant", {{"type", "string"}});
    variant.optional("all variants").means("compares with this variant only");
    variant.reads([](const JsonNode& node, Spec&) { node.text(); });
    variant.writes([](const Spec&) { return Json(); });
    return f;
  }();
  return format;
}

std::vector<PublishedSpec> read_published(const JsonNode& node, const std::string& variant,
                                          const std::vector<Variant>& variants) {
  std::vector<PublishedSpec> results;
  for (const JsonNode& item : node.items()) {
    const PublishedSpec result = published_format().read(item);
    const bool is_gain = result.metric == PublishedMetric::throughput_gain;
    const auto over = item.find("over"), only_for = item.find("variant");
    if (over && !is_gain)
      over->fail("\"" + name_of(result.metric) + "\" is compared with no variant", "allowed: with \"throughput_gain\"");
    if (is_gain && !is_named(variants, item.at("over").text()))
      over->fail("no such variant", "allowed: a name of /variants");
    if (only_for && !is_named(variants, only_for->text()))
      only_for->fail("no such variant", "allowed: a name of /variants");
    if (!only_for || only_for->text() == variant) results.push_back(result);
  }
  return results;
}

}  // namespace lockstep::sim::scenario
