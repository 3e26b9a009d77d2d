#include "sim/job_prediction/measured_critical.hpp"

#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/study.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/convergence/critical_batch.hpp"
#include "sim/job_prediction/job_tokens.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// The first object "noise_scale" at any depth; null if there is none.
const Json* find_noise_scale(const Json& json) {
  if (!json.is_structured()) return nullptr;
  for (const auto& [key, value] : json.items()) {
    if (key == "noise_scale" && value.is_object()) return &value;
    if (const Json* found = find_noise_scale(value)) return found;
  }
  return nullptr;
}

// The file as one value, or as a list of its lines (JSON Lines).
Json read_values(const std::string& path) {
  const std::string text = read_file(path);
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_discarded()) return whole;
  Json lines = Json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (const Json value = Json::parse(line, nullptr, false); !value.is_discarded()) lines.push_back(value);
  return lines;
}

double number_in(const Json& json, const char* key) {
  const auto member = json.find(key);
  return member != json.end() && member->is_number() ? member->get<double>() : 0;
}

}  // namespace

void set_critical_batch(const std::string& text, JobQuestion& question) {
  if (!std::filesystem::is_regular_file(text)) {
    question.critical_batch_tokens = count_of("--critical-batch", text);
    return;
  }
  const std::string option = "--critical-batch " + text + ": ";
  const Json file = read_values(text);
  if (file.is_object() && file.value("schema", Json()) == kRunSchema)
    throw InputError(option + "a record of train, whose critical batch is in images; allowed: simulate convergence " +
                     text + ", or a noise scale of a language model");
  const Json* const noise = find_noise_scale(file);
  if (noise == nullptr)
    throw InputError(option +
                     "no noise_scale; allowed: tokens such as 870k, a log of lockstep_probe.py --noise-scale, "
                     "or the profile that calibrate import makes of it");
  const double tokens = number_in(*noise, "tokens_per_sample"), batch = number_in(*noise, "critical_batch");
  const double low = number_in(*noise, "low"), high = number_in(*noise, "high");
  if (!(tokens > 0))
    throw InputError(option + "its samples are no sequences of tokens; allowed: a noise scale of a language model");
  if (!(batch > 0 && low > 0 && high > 0))
    throw InputError(option + "the noise scale has no upper bound; allowed: a measurement with a larger --noise-scale");
  question.critical_batch_tokens = batch * tokens;
  const double deviation = 0.5 * std::log(high / low) / normal_quantile(0.5 + 0.5 * kIntervalCoverage);
  question.critical_batch_deviation = std::hypot(deviation, kNoiseScaleDeviation);
  question.critical_batch_source = "gradient noise scale of " + text + ", 80 % interval " + format_count(low * tokens) +
                                   " to " + format_count(high * tokens) +
                                   "; a critical batch deviates from it by a "
                                   "factor of 3.2 (standard deviation)";
}

}  // namespace lockstep::sim::job_prediction
