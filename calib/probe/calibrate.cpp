#include "calib/probe/calibrate.hpp"

#include <map>
#include <memory>
#include <optional>

#include "calib/probe/clock_watch.hpp"
#include "calib/probe/expectation.hpp"
#include "calib/probe/sizes.hpp"
#include "calib/second_look.hpp"
#include "engine/base/clock.hpp"

namespace lockstep::calib {
namespace {

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

Sample whole_of(const Probe& probe, const std::vector<double>& seconds) {
  Sample whole;
  whole.probe = probe.probe;
  whole.key = probe.key;
  whole.seconds = seconds;
  return whole;
}

// The samples of a series: its parts, if it has any, and then the whole. The whole is last, so that a run killed in
// between measures the series again.
std::vector<Sample> with_parts(const Probe& probe, const Prepared& prepared, const Series& series) {
  std::vector<Sample> samples;
  if (prepared.parts) samples = prepared.parts(series);
  samples.push_back(whole_of(probe, series.seconds));
  return samples;
}

std::vector<Sample> samples_of(const Probe& probe, const Prepared& prepared, const std::string& source,
                               const SamplingOptions& options) {
  const Series series = sample(prepared.timed, options);
  std::vector<Sample> samples = with_parts(probe, prepared, series);
  std::map<std::string, Sample*> by_id;
  for (Sample& taken : samples) {
    taken.source = source;
    if (series.clock_hz.size() == taken.seconds.size()) taken.clock_hz = series.clock_hz;
    taken.clock_reasons = {series.clock_reasons.begin(), series.clock_reasons.end()};
    taken.flags = series.flags();
    by_id[taken.id()] = &taken;
  }
  for (const Discarded& discarded : series.discarded) {
    Series other;
    other.seconds = discarded.seconds;
    other.runs = discarded.runs;
    for (const Sample& one : with_parts(probe, prepared, other)) {
      const auto counting = by_id.find(one.id());
      if (counting != by_id.end()) counting->second->set_aside.push_back({discarded.why, one.seconds});
    }
  }
  return samples;
}

// Makes all processes take the same samples: they agree on everything that the sampler uses to decide.
Timed agreed(device::Backend& backend, const Timed& timed) {
  Timed same = timed;
  same.run = [&backend, run = timed.run] { return backend.agreed(run()); };
  same.clock_ratio = [&backend, ratio = timed.clock_ratio] { return -backend.agreed(ratio ? -ratio() : -1); };
  if (timed.clocks)
    same.clocks = [&backend, clocks = timed.clocks] {
      ClockSpan span = clocks();
      span.lowest_hz = -backend.agreed(-span.lowest_hz);
      span.ratio = -backend.agreed(-span.ratio);
      return span;
    };
  same.now_s = [&backend, now_s = timed.now_s] { return backend.agreed(now_s ? now_s() : steady_now_s()); };
  return same;
}

// Empty, with the reason in `why`, if preparation failed here or in another process.
std::optional<Prepared> prepared_everywhere(device::Backend& backend, const Probe& probe, ClockWatch* watch,
                                            std::string& why) {
  std::optional<Prepared> prepared;
  why = "failed in another process";
  try {
    prepared = probe.prepare();
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (backend.agreed(prepared ? 0 : 1) > 0) return std::nullopt;
  if (watch != nullptr) {
    prepared->timed.clocks = [watch] { return watch->since_last(); };
    watch->since_last();  // discards clocks observed during preparation
  }
  prepared->timed = agreed(backend, prepared->timed);
  return prepared;
}

}  // namespace

std::string device_name_of(const device::Backend& backend) {
  return without_count(backend.description());
}

std::string source_of(device::Backend& backend) {
  return std::to_string(count_devices(backend)) + " x " + device_name_of(backend);
}

namespace {

class Measuring {
 public:
  Measuring(device::Backend& backend, const std::vector<Probe>& probes, const SamplingOptions& options, SampleLog* log,
            const std::function<void(const Progress&)>& progress,
            const std::function<void(const std::string& probe, const std::string& why)>& failed)
      : backend_(backend),
        probes_(probes),
        options_(options),
        log_(log),
        progress_(progress),
        failed_(failed),
        source_(source_of(backend)),
        left_(expectation_of(probes, log != nullptr ? log->samples() : std::vector<Sample>(), options)) {
    state_.of = probes.size();
    // Either all processes watch clocks or none; they agree on whether all can read them.
    if (backend.agreed(backend.clocks().empty() ? 1 : 0) == 0)
      watch_ = std::make_unique<ClockWatch>([&backend] { return backend.clocks(); });
  }

  void run() {
    for (const Probe& probe : probes_) {
      if (is_agreed(log_ != nullptr && log_->has(probe.id())))
        ++state_.resumed;
      else
        for (const Sample& one : take(probe, "")) append(one);
      ++state_.done;
    }
    if (options_.has_second_look) look_again();
    state_.now.clear();
    state_.expected_s = 0;
    progress_(state_);
  }

 private:
  // The first process has the log, so it decides.
  bool is_agreed(bool own) { return backend_.agreed(own ? 1 : 0) > 0; }

  const Sample* known(const std::string& id) const { return log_ != nullptr ? log_->find(id) : nullptr; }

  void look_again() {
    std::vector<const Probe*> disturbed;
    for (const Probe& probe : probes_) {
      const Sample* first = known(probe.id());
      if (is_agreed(first != nullptr && wants_second_look(*first))) disturbed.push_back(&probe);
    }
    state_.of += disturbed.size();
    left_.expect_again(disturbed);
    for (const Probe* probe : disturbed) {
      join(take(*probe, "again: "));
      ++state_.done;
    }
  }

  // Parts follow the decision for their whole, which is last.
  void join(const std::vector<Sample>& second) {
    if (second.empty() || log_ == nullptr) return;
    const bool takes_second = is_second_better(*known(second.back().id()), second.back());
    for (const Sample& one : second) {
      const Sample* first = known(one.id());
      append(first != nullptr ? joined_looks(*first, one, takes_second) : one);
    }
  }

  void append(const Sample& sample) {
    if (log_ != nullptr) log_->append(sample);
  }

  // Returns no samples if the measurement failed.
  std::vector<Sample> take(const Probe& probe, const char* which) {
    state_.now = which + key_text(probe);
    state_.expected_s = left_.seconds();
    progress_(state_);
    const double began_s = steady_now_s();
    std::vector<Sample> taken;
    std::string why;
    const std::optional<Prepared> prepared = prepared_everywhere(backend_, probe, watch_.get(), why);
    try {
      if (prepared)
        taken = samples_of(probe, *prepared, source_, options_);
      else
        failed_(state_.now, why);
    } catch (const std::exception& error) {
      if (backend_.ops().processes() > 1) throw;
      failed_(state_.now, error.what());
    }
    left_.took(probe.probe, steady_now_s() - began_s);
    return taken;
  }

  device::Backend& backend_;
  const std::vector<Probe>& probes_;
  const SamplingOptions& options_;
  SampleLog* log_;
  const std::function<void(const Progress&)>& progress_;
  const std::function<void(const std::string& probe, const std::string& why)>& failed_;
  const std::string source_;
  TimeLeft left_;
  Progress state_;
  std::unique_ptr<ClockWatch> watch_;  ///< null if clocks cannot be read
};

}  // namespace

void measure(device::Backend& backend, const std::vector<Probe>& probes, const SamplingOptions& options, SampleLog* log,
             const std::function<void(const Progress&)>& progress,
             const std::function<void(const std::string& probe, const std::string& why)>& failed) {
  Measuring(backend, probes, options, log, progress, failed).run();
}

Profile profile_of(const SampleLog& log, const std::string& name, device::Backend& backend, const Json& facts,
                   const Json& provenance) {
  Profile profile;
  profile.name = name;
  profile.device = {device_name_of(backend), backend.name(), count_devices(backend), facts};
  profile.samples = log.samples();
  profile.fits = fit_curves(profile.samples);
  profile.provenance = provenance;
  return profile;
}

}  // namespace lockstep::calib
