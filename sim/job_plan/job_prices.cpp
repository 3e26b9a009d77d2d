#include "sim/job_plan/job_prices.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/failures/availability.hpp"
#include "sim/failures/failure_spec.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job_plan/machine_options.hpp"
#include "sim/job_prediction/job_price.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/quantity/calendar.hpp"

namespace lockstep::sim::job_plan {
namespace {

std::string quantity_of(const char* option, const std::string& written, const std::string& text, Dimension dimension) {
  double value = 0;
  const std::string wrong = parse_quantity_or_explain(text, dimension, value);
  if (!wrong.empty()) throw InputError(std::string(option) + " " + in_quotes(written) + ": " + wrong);
  return text;
}

struct Price {
  std::string gpu;  ///< as written; empty: all GPUs
  std::string price;
};

Price price_of(const std::string& written) {
  const std::size_t equals = written.rfind('=');
  Price price;
  if (equals != std::string::npos) {
    price.gpu = trimmed(written.substr(0, equals));
    if (price.gpu.empty())
      throw InputError("--price " + in_quotes(written) + ": no GPU before the =; allowed: GPU=PRICE, PRICE");
  }
  const std::string amount = trimmed(equals == std::string::npos ? written : written.substr(equals + 1));
  price.price = quantity_of("--price", written, price_text(amount), Dimension::price);
  return price;
}

Json sourced(const std::string& value, const std::string& source) {
  return {{"value", value}, {"kind", "assumed"}, {"source", source}};
}

const PricedGpu& gpu_of(const std::string& name, const std::vector<PricedGpu>& gpus, const Catalogue& catalogue) {
  const GpuEntry* entry = read_gpu_name(catalogue.gpus, name).entry;
  const auto found = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const PricedGpu& gpu) { return entry != nullptr && gpu.id == entry->id; });
  if (found != gpus.end()) return *found;
  std::vector<std::string> ids;
  for (const PricedGpu& gpu : gpus) ids.push_back(gpu.id);
  throw InputError("--price " + in_quotes(name) + ": none of the plan's GPUs; allowed: " + joined(ids));
}

}  // namespace

Json job_prices(const JobPlan& words, const std::vector<PricedGpu>& gpus, const Catalogue& catalogue) {
  if (!has_prices(words) && !words.tariff.empty())
    throw InputError("--tariff " + in_quotes(words.tariff) + ": what GPUs cost is not said; allowed: with --price");
  if (words.prices.empty() && words.tariff.empty()) return nullptr;
  std::vector<Json> list;
  for (const std::string& written : words.prices) {
    const Price price = price_of(written);
    Json one = Json::object();
    if (!price.gpu.empty()) one["gpu"] = gpu_of(price.gpu, gpus, catalogue).name;
    for (const Json& other : list)
      if (other.value("gpu", "") == one.value("gpu", ""))
        throw InputError("--price " + in_quotes(written) + ": a second price of " +
                         (price.gpu.empty() ? "all GPUs" : price.gpu) + "; allowed: one");
    one["price"] = sourced(price.price, "--price " + written);
    list.push_back(one);
  }
  // The plan uses the first price that matches. Prices of one GPU therefore come before the price of all GPUs.
  std::stable_partition(list.begin(), list.end(), [](const Json& one) { return one.contains("gpu"); });
  Json prices = Json::object();
  if (!list.empty()) prices["gpu"] = list;
  if (!words.tariff.empty())
    prices["energy"] = sourced(quantity_of("--tariff", words.tariff, money_text(words.tariff), Dimension::tariff),
                               "--tariff " + words.tariff);
  return prices;
}

Json job_energy(const JobPlan& words) {
  Json energy = Json::object();
  const auto add = [&](const char* key, const char* option, double value) {
    if (value > 0) energy[key] = {{"value", value}, {"kind", "assumed"}, {"source", option}};
  };
  add("pue", "--pue", words.pue);
  add("co2", "--co2", words.co2_g_per_kwh);
  return words.has_energy || !energy.empty() || !words.tariff.empty() ? energy : Json();
}

Json job_failures(const JobPlan& words) {
  Json failures = Json::object();
  if (!words.interruptions.empty())
    failures["per_node_day"] = {{"value", count_of("--interruptions", words.interruptions) / 1000},
                                {"kind", "assumed"},
                                {"source", "--interruptions " + words.interruptions}};
  const auto add_time = [&](const char* key, const char* option, const std::string& text) {
    if (text.empty()) return;
    failures[key] = sourced(quantity_of(option, text, text, Dimension::time), std::string(option) + " " + text);
  };
  add_time("restart", "--restart", words.restart);
  add_time("checkpoint_interval", "--checkpoint-every", words.checkpoint_every);
  if (!words.question.storage.empty()) failures.update(parse_storage_bandwidth("--storage", words.question.storage));
  if (words.spares) failures["spares"] = *words.spares;
  if (!words.availability.empty()) {
    const JsonDocument trace = JsonDocument::load(words.availability);
    availability_format().read(trace.root());
    failures["availability"] = trace.json();
  }
  if (!words.has_failures && failures.empty()) return Json();
  if (words.spares) return failures;
  Json with_defaults = default_failures("");
  with_defaults.update(failures);
  return with_defaults;
}

std::string failures_text(const Json& failures) {
  JsonDocument document = JsonDocument::parse(Json{{"failures", failures}}.dump(), "plan job");
  failures_format().complete(document, "/failures");
  (void)failures_format().read(document.root().at("failures"));
  std::string text;
  if (failures.contains("repair"))  // no option gives it: from default_failures()
    text += "  repair " + failures.at("repair").at("value").get<std::string>() +
            " (assumed: " + failures.at("repair").at("source").get<std::string>() +
            "; --spares counts nodes that stand by)\n";
  for (const Assumption& input : document.assumptions()) {
    const std::string key = input.pointer.substr(input.pointer.rfind('/') + 1);
    if (failures.contains(key)) continue;  // given
    const std::string value = input.value.is_string() ? input.value.get<std::string>() : input.value.dump();
    text += "  " + key + " " + value + " (" + input.kind + ": " + input.source + ")\n";
  }
  return text;
}

Json job_objective(const JobPlan& words) {
  if (!words.deadline.empty() && !words.budget.empty())
    throw InputError("--budget " + in_quotes(words.budget) + ": stands beside --deadline; allowed: one of the two");
  const bool is_priced = has_prices(words);
  Json objective{{"kind", is_priced ? "least-cost" : "least-time"}};
  for (const auto& [option, text] : {std::pair("--deadline", words.deadline), std::pair("--budget", words.budget)})
    if (!text.empty() && !is_priced)
      throw InputError(std::string(option) + " " + in_quotes(text) +
                       ": what GPUs cost is not said; allowed: with --price");
  if (!words.deadline.empty())
    objective = {{"kind", "least-cost-by-deadline"},
                 {"deadline", quantity_of("--deadline", words.deadline, words.deadline, Dimension::time)}};
  if (!words.budget.empty())
    objective = {{"kind", "least-time-in-budget"},
                 {"budget", quantity_of("--budget", words.budget, money_text(words.budget), Dimension::money)}};
  if (words.is_cautious) objective["cautious"] = true;
  return objective;
}

}  // namespace lockstep::sim::job_plan
