#include "calib/import/sound.hpp"

namespace lockstep::calib {

Imported sound(Imported log, const std::string& name) {
  std::vector<Sample> kept;
  std::string first;
  for (const Sample& sample : log.samples) {
    try {
      const JsonDocument document = JsonDocument::parse(to_json(sample).dump(), sample.source);
      sample_from_json(document.root());
      kept.push_back(sample);
    } catch (const InputError& error) {
      log.refused.push_back(error.what());
      if (first.empty()) first = error.what();
    }
  }
  if (kept.empty() && !first.empty())
    throw InputError(name + ": nothing that a profile can hold; first refused: " + first);
  log.samples = std::move(kept);
  return log;
}

}  // namespace lockstep::calib
