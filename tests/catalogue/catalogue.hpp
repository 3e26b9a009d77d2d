#pragma once
// Returns the catalogue in the source folder.
#include "sim/catalogue/catalogue.hpp"

namespace lockstep::tests {

inline const sim::Catalogue& catalogue() {
  static const sim::Catalogue loaded = sim::load_catalogue(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue");
  return loaded;
}

}  // namespace lockstep::tests
