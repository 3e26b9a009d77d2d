#pragma once
// Creates the device of a run.
#include <memory>
#include <string>

#include "engine/train/options.hpp"

namespace lockstep::train {

/// `device` is host or cuda; `threads` is for the host, 0 means one per core. Sums include all `processes`, which
/// must outlive the backend; null: this process only. Throws std::runtime_error, in one line, if cuda is not
/// available.
std::unique_ptr<device::Backend> make_backend(const std::string& device, int gpus, int threads,
                                              sync::Processes* processes = nullptr);
std::unique_ptr<device::Backend> make_backend(const Settings& settings, sync::Processes& processes);

}  // namespace lockstep::train
