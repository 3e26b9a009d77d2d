#pragma once
// A profile as a scenario's source of compute and communication times ("compute": {"profile": "h200.json"}).
#include <memory>
#include <string>

#include "calib/profile.hpp"

namespace lockstep::sim {

struct ProfileSpec {
  std::shared_ptr<const calib::Profile> profile;  ///< null: none
  std::string model;                              ///< as the profile's samples name it
  std::string precision;

  explicit operator bool() const { return profile != nullptr; }
  /// The fit of whole iterations of one learner, measured while `devices` devices were busy; where that number was not
  /// measured, the next larger one, else the largest. Over the batch per device.
  const calib::LineFit& iteration(int devices) const;
  /// The fit of an all-reduce over `ranks` devices, over bytes; null where it was not measured.
  const calib::LineFit* all_reduce(int ranks) const;
};

/// Reads /compute/profile, checks that it has iterations of the model at the precision, and notes in the document's
/// ledger what was taken. `precision` is the scenario's; "mixed" takes fp16.
ProfileSpec read_profile(const JsonNode& node, const std::string& model, const std::string& precision);

}  // namespace lockstep::sim
