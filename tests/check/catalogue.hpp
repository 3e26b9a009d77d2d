#pragma once
#include "sim/catalogue/catalogue.hpp"
#include "sim/job/job_names.hpp"

namespace lockstep::tests {

inline const sim::Catalogue& catalogue() {
  static const sim::Catalogue one = sim::load_catalogue(sim::default_catalogue_folder());
  return one;
}

}  // namespace lockstep::tests
