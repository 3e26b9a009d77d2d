#pragma once
// Networks that the catalogue does not have, and the cache that shares them between jobs.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/model/graph.hpp"
#include "sim/catalogue/entries.hpp"

namespace lockstep::sim {
inline namespace catalogue {

/// A network that the catalogue does not have. It comes from a file or from numbers, and has its layers and an entry
/// like those of the catalogue.
struct OwnModel {
  ModelEntry entry;
  model::Graph graph;
  std::optional<model::Graph> fused{};  ///< with fused attention, if `graph` has unfused attention
  std::string architecture{};           ///< architecture in a HuggingFace configuration: "llama"; empty: unknown
};

/// Shares networks that are made of numbers for as long as a job uses them. One of a hundred layers takes megabytes, and
/// a table may need it for hundreds of rows. Threads may use it at the same time.
class OwnModels {
 public:
  /// Returns the network with that key if it still exists, else makes it.
  template <class Make>
  std::shared_ptr<const OwnModel> find_or_make(const std::string& key, const Make& make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::weak_ptr<const OwnModel>& known = all_[key];
    if (std::shared_ptr<const OwnModel> held = known.lock()) return held;
    const std::shared_ptr<const OwnModel> made = make();
    known = made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const OwnModel>> all_;
};

}  // namespace catalogue
}  // namespace lockstep::sim
