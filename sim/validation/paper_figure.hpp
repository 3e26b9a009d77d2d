#pragma once
// Pictures of the papers whose schedules are replayed: predictions of scenarios/published/PAPER and published results.
// `validate --plot PAPER` writes one.
#include <string>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::validation {

struct PaperFigure {
  std::string svg;
  std::string table;  ///< the table of each scenario, one after the other
};

/// Returns the names of the folders of `published` that hold scenarios, sorted.
std::vector<std::string> paper_names(const std::string& published);

/// Predicts all scenarios of a paper, `jobs` points at a time. Throws InputError for an unknown paper.
PaperFigure plot_paper(const std::string& published, const std::string& paper, int jobs);

}  // namespace lockstep::sim::validation
