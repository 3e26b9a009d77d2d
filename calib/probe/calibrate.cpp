#include "calib/probe/calibrate.hpp"

#include <chrono>

namespace lockstep::calib {
namespace {

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string key_text(const Probe& probe) {
  std::string text = probe.probe;
  for (const auto& [name, value] : probe.key.items())
    text += " " + (value.is_string() ? value.get<std::string>() : name + " " + value.dump());
  return text;
}

// What the probe measured; its parts, where it has any, before itself, so that a run killed between them takes it
// again.
std::vector<Sample> samples_of(const Probe& probe, const std::string& source, const SamplingOptions& options) {
  const Prepared prepared = probe.prepare();
  const Series series = sample(prepared.timed, options);
  std::vector<Sample> samples;
  if (prepared.parts) samples = prepared.parts(series);
  Sample whole;
  whole.probe = probe.probe;
  whole.key = probe.key;
  whole.seconds = series.seconds;
  samples.push_back(whole);
  for (Sample& taken : samples) {
    taken.source = source;
    taken.flags = series.flags();
  }
  return samples;
}

}  // namespace

void measure(const std::vector<Probe>& probes, const std::string& source, const SamplingOptions& options,
             SampleLog& log, const std::function<void(const Progress&)>& progress,
             const std::function<void(const std::string& probe, const std::string& why)>& failed) {
  Progress state;
  state.of = probes.size();
  const double began_s = steady_now_s();
  for (const Probe& probe : probes) {
    if (log.has(probe.id())) {
      ++state.done;
      ++state.resumed;
      continue;
    }
    state.now = key_text(probe);
    const double measured = static_cast<double>(state.done - state.resumed);
    const double left = static_cast<double>(state.of - state.done);
    state.expected_s = measured > 0 ? (steady_now_s() - began_s) / measured * left : left * options.time_limit_s / 4;
    progress(state);
    std::vector<Sample> taken;
    try {
      taken = samples_of(probe, source, options);
    } catch (const std::exception& error) {
      failed(state.now, error.what());
    }
    for (const Sample& one : taken) log.append(one);
    ++state.done;
  }
  state.now.clear();
  state.expected_s = 0;
  progress(state);
}

Profile profile_of(const SampleLog& log, const std::string& name, const device::Backend& backend,
                   const Json& provenance) {
  Profile profile;
  profile.name = name;
  profile.device = {backend.description(), backend.name(), backend.devices(), Json::object()};
  profile.samples = log.samples();
  profile.fits = fit_curves(profile.samples);
  profile.provenance = provenance;
  return profile;
}

}  // namespace lockstep::calib
