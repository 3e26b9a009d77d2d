#pragma once
// Decides which records count as one source. A paper and its repository share machines, authors and ways of measuring.
// So do all rounds of MLPerf and all pages of one collection of examples. Each of them tells something about the
// others. Predictions scored as those of an unseen source leave all of it out.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/validation/record.hpp"

namespace lockstep::sim::validation {

/// Returns the name under which a source is left out: by the table in sources.cpp, else the source's own text.
std::string whole_source(const std::string& source);

/// True if results of `source` may be used to predict `predicted`; both are whole_source(). A source never predicts
/// itself. A vendor's series of summaries is predicted forward in time: each summary by the older ones.
bool may_predict(const std::string& source, const std::string& predicted);

/// Lists figures of the catalogue whose source is that of a target, one per line. There must be none: the prediction
/// would know the value with which it is compared.
std::vector<std::string> figures_of_targets(const Catalogue& catalogue, const std::vector<Record>& records);

}  // namespace lockstep::sim::validation
