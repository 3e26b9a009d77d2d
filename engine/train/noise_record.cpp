#include "engine/train/noise_record.hpp"

#include <cmath>
#include <vector>

#include "engine/base/command_name.hpp"
#include "engine/base/format_printf.hpp"
#include "engine/base/text.hpp"

namespace lockstep::train {
namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Two significant digits suffice: the interval of a noise scale is rarely narrower.
std::string images_text(double images) {
  return format_printf("%.0f", images < 100 ? images : std::stod(format_printf("%.2g", images)));
}

std::string interval_text(const Json& noise) {
  const std::string low = images_text(noise.at("low").get<double>());
  if (noise.at("high").is_null()) return "above " + low;
  return low + " to " + images_text(noise.at("high").get<double>());
}

/// "; first epoch 300, last epoch 1900", or the same for evaluations; empty for a single one.
std::string growth_text(const Json& record) {
  const std::string entries = record.contains("evaluations") ? "evaluations" : "epochs";
  const std::string name = entries == "epochs" ? "epoch " : "evaluation ";
  std::vector<std::string> values;
  for (const Json& entry : record.at(entries)) {
    if (!entry.contains("noise_scale")) continue;
    const Json& batch = entry.at("noise_scale").at("critical_batch");
    values.push_back(batch.is_null() ? "not determined" : images_text(batch.get<double>()));
  }
  return values.size() < 2 ? "" : "; first " + name + values.front() + ", last " + name + values.back();
}

}  // namespace

Json noise_json(const sync::GradientNoise& noise) {
  const sync::NoiseScale scale = sync::noise_scale(noise);
  const bool has_variance = noise.blocks >= 2;
  const auto variance = [&](double value) { return has_variance ? Json(value) : Json(nullptr); };
  return {{"steps", noise.steps},
          {"blocks", noise.blocks},
          {"gradient_square", noise.steps > 0 ? Json(noise.gradient_square) : Json(nullptr)},
          {"covariance_trace", noise.steps > 0 ? Json(noise.covariance_trace) : Json(nullptr)},
          {"gradient_square_variance", variance(noise.gradient_square_variance)},
          {"covariance_trace_variance", variance(noise.covariance_trace_variance)},
          {"shared_covariance", variance(noise.shared_covariance)},
          {"critical_batch", number_or_null(scale.batch)},
          {"low", scale.low},
          {"high", number_or_null(scale.high)}};
}

void add_noise_scale(Json& to, const Json& entries, std::int64_t images) {
  std::vector<sync::NoiseStretch> stretches;
  std::int64_t steps = 0;
  const auto number = [](const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<double>());
  };
  for (const Json& entry : entries) {
    if (!entry.contains("noise_scale")) continue;
    const Json& noise = entry.at("noise_scale");
    const auto own = noise.at("steps").get<std::int64_t>();
    steps += own;
    stretches.push_back(
        {static_cast<double>(own),
         {number(noise.at("critical_batch")), noise.at("low").get<double>(), number(noise.at("high"))}});
  }
  if (stretches.empty()) return;
  const sync::NoiseScale mean = sync::mean_by_progress(stretches, static_cast<double>(images));
  to["noise_scale"] = {{"steps", steps},
                       {"critical_batch", number_or_null(mean.batch)},
                       {"low", mean.low},
                       {"high", number_or_null(mean.high)}};
}

std::string noise_text(const Json& record) {
  if (!record.contains("noise_scale")) return "";
  const Json& noise = record.at("noise_scale");
  const std::string steps = format_printf("%lld iterations", noise.at("steps").get<long long>());
  const std::string growth = growth_text(record);
  if (noise.at("critical_batch").is_null() || noise.at("high").is_null())
    return "gradient noise scale: " + interval_text(noise) + " images (80 % interval, " + steps + ")" + growth +
           "\nIts upper bound is not determined. Train longer, or with a larger --batch or more --gpus.\n";
  const std::string batch = images_text(noise.at("critical_batch").get<double>());
  return "gradient noise scale: " + batch + " images (80 % interval " + interval_text(noise) + ", " + steps + ")" +
         growth +
         "\nIt estimates the critical batch, at which training takes twice the fewest iterations. On MNIST sweeps "
         "found one up "
         "to five times as large.\n";
}

std::string noise_command_text(const Json& record, const std::string& output) {
  if (!record.contains("noise_scale") || output.empty() || record.at("epochs_to_target").is_null()) return "";
  return "next: " + command_of_program("simulate") + " convergence " + output +
         " (with --noise-scale, runs of three seeds predict other batches)\n";
}

}  // namespace lockstep::train
