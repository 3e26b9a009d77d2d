#include "calib/probe/calibrate.hpp"

#include <chrono>
#include <optional>

#include "calib/probe/sizes.hpp"

namespace lockstep::calib {
namespace {

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string without_count(const std::string& description) {
  const std::size_t digits = description.find_first_not_of("0123456789");
  return digits > 0 && digits != std::string::npos && description.compare(digits, 3, " x ") == 0
             ? description.substr(digits + 3)
             : description;
}

std::string key_text(const Probe& probe) {
  std::string text = probe.probe;
  for (const auto& [name, value] : probe.key.items())
    text += " " + (value.is_string() ? value.get<std::string>() : name + " " + value.dump());
  return text;
}

// What the probe measured; its parts, where it has any, before itself, so that a run killed between them takes it
// again.
std::vector<Sample> samples_of(const Probe& probe, const Prepared& prepared, const std::string& source,
                               const SamplingOptions& options) {
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

// All processes take the same samples: whatever the sampler decides by is the same for each.
Timed agreed(device::Backend& backend, const Timed& timed) {
  Timed same = timed;
  same.run = [&backend, run = timed.run] { return backend.agreed(run()); };
  same.clock_ratio = [&backend, ratio = timed.clock_ratio] { return -backend.agreed(ratio ? -ratio() : -1); };
  same.now_s = [&backend, now_s = timed.now_s] { return backend.agreed(now_s ? now_s() : steady_now_s()); };
  return same;
}

// Empty with `why` filled where it failed, here or in another process.
std::optional<Prepared> prepared_everywhere(device::Backend& backend, const Probe& probe, std::string& why) {
  std::optional<Prepared> prepared;
  why = "failed in another process";
  try {
    prepared = probe.prepare();
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (backend.agreed(prepared ? 0 : 1) > 0) return std::nullopt;
  prepared->timed = agreed(backend, prepared->timed);
  return prepared;
}

}  // namespace

std::string device_name_of(const device::Backend& backend) {
  return without_count(backend.description());
}

std::string source_of(device::Backend& backend) {
  return std::to_string(all_devices(backend)) + " x " + device_name_of(backend);
}

void measure(device::Backend& backend, const std::vector<Probe>& probes, const SamplingOptions& options, SampleLog* log,
             const std::function<void(const Progress&)>& progress,
             const std::function<void(const std::string& probe, const std::string& why)>& failed) {
  const std::string source = source_of(backend);
  Progress state;
  state.of = probes.size();
  const double began_s = steady_now_s();
  for (const Probe& probe : probes) {
    if (backend.agreed(log != nullptr && log->has(probe.id()) ? 1 : 0) > 0) {
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
    std::string why;
    const std::optional<Prepared> prepared = prepared_everywhere(backend, probe, why);
    try {
      if (prepared)
        taken = samples_of(probe, *prepared, source, options);
      else
        failed(state.now, why);
    } catch (const std::exception& error) {
      if (backend.ops().processes() > 1) throw;
      failed(state.now, error.what());
    }
    if (log != nullptr)
      for (const Sample& one : taken) log->append(one);
    ++state.done;
  }
  state.now.clear();
  state.expected_s = 0;
  progress(state);
}

Profile profile_of(const SampleLog& log, const std::string& name, device::Backend& backend, const Json& facts,
                   const Json& provenance) {
  Profile profile;
  profile.name = name;
  profile.device = {device_name_of(backend), backend.name(), all_devices(backend), facts};
  profile.samples = log.samples();
  profile.fits = fit_curves(profile.samples);
  profile.provenance = provenance;
  return profile;
}

}  // namespace lockstep::calib
