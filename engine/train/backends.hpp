#pragma once
// The device that a run asks for.
#include <memory>
#include <string>

#include "engine/train/options.hpp"

namespace lockstep::train {

/// `device` is host or cuda; `threads` of the host, 0: one per core. Throws std::runtime_error in one line where cuda
/// cannot be had.
/// `processes`, which must outlive it, are those whose sums go together; null: one.
std::unique_ptr<device::Backend> make_backend(const std::string& device, int gpus, int threads,
                                              sync::Processes* processes = nullptr);
std::unique_ptr<device::Backend> make_backend(const Settings& settings, sync::Processes& processes);

}  // namespace lockstep::train
