#include "calib/noise_scale.hpp"

#include <cmath>
#include <string>

#include "engine/base/command_name.hpp"
#include "engine/base/format_printf.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr double kMostSamples = 1e15;
constexpr double kTokensPerParameter = 20;  // compute-optimal (Hoffmann et al. 2022)

void check_number(const JsonNode& node, const char* key, double low, double high, bool may_be_null = false) {
  const JsonNode value = node.at(key);
  if (!may_be_null || !value.is_null()) value.number({low, high});
}

/// Two digits, in the form that options accept: "820k", "1.2B".
std::string count_text(double count) {
  const double rounded = std::stod(format_printf("%.2g", count));
  return rounded >= 1e4 && rounded < 1e6 ? format_printf("%.3gk", rounded / 1e3) : format_count(rounded);
}

double number_or_0(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

Json read_noise_scale(const JsonNode& node) {
  node.keys({"micro_batch", "micro_batches", "groups", "gradient_square", "covariance_trace", "critical_batch", "low",
             "high", "tokens_per_sample"});
  check_number(node, "micro_batch", 1, 1e9);
  check_number(node, "micro_batches", 2, 1e9);
  check_number(node, "groups", 1, 1e9);
  check_number(node, "gradient_square", -1e300, 1e300);
  check_number(node, "covariance_trace", -1e300, 1e300);
  check_number(node, "critical_batch", 0, kMostSamples, true);
  check_number(node, "low", 0, kMostSamples);
  check_number(node, "high", 0, kMostSamples, true);
  if (node.has("tokens_per_sample")) check_number(node, "tokens_per_sample", 1, 1e9);
  return node.json();
}

std::string noise_scale_text(const Json& facts) {
  const auto torch = facts.find("torch");
  if (torch == facts.end() || !torch->is_object() || !torch->contains("noise_scale")) return "";
  const Json& noise = (*torch)["noise_scale"];
  if (!noise.is_object()) return "";  // in profiles written by other programs
  const double per_sample = number_or_0(noise, "tokens_per_sample");
  const std::string unit = per_sample > 0 ? " tokens" : " samples";
  const auto amount = [&](const char* key) {
    return count_text(number_or_0(noise, key) * (per_sample > 0 ? per_sample : 1));
  };
  if (number_or_0(noise, "critical_batch") <= 0 || number_or_0(noise, "high") <= 0)
    return "Gradient noise scale: above " + amount("low") + unit +
           ", no upper bound; a larger --noise-scale K of the probe determines it better\n";
  std::string text = "Gradient noise scale: " + amount("critical_batch") + unit + " (80 % interval " + amount("low") +
                     " to " + amount("high") + ") at the weights that were probed, an estimate of the critical batch\n";
  const double parameters = number_or_0(*torch, "parameters");
  if (per_sample > 0 && parameters > 0)
    text += "  next: " + command_of_program("simulate") + " loss --parameters " + count_text(parameters) +
            " --tokens " + count_text(kTokensPerParameter * parameters) + " --batch-tokens " +
            amount("critical_batch") + " --critical-batch " + amount("critical_batch") + "\n";
  return text;
}

}  // namespace lockstep::calib
