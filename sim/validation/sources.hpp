#pragma once
// Decides which records count as one source. A paper and its repository, all rounds of MLPerf, and all pages of one
// collection of examples share machines, authors and ways of measuring. Each of them tells something about the others.
// Predictions scored as those of an unseen source leave all of it out.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/validation/record.hpp"

namespace lockstep::sim::validation {

/// The name under which a record's or a figure's source is left out: by the table in sources.cpp, else its own text.
std::string whole_source(const std::string& source);

/// Whether results of `source` may tell something about `predicted`, both whole_source(). A source tells nothing about
/// itself. A vendor's series of summaries is predicted forward in time: each summary by the older ones.
bool may_predict(const std::string& source, const std::string& predicted);

/// Figures of the catalogue whose source is that of a record to be predicted, a line each: none may be, since a
/// prediction would know what it is compared with.
std::vector<std::string> figures_of_targets(const Catalogue& catalogue, const std::vector<Record>& records);

}  // namespace lockstep::sim::validation
