#pragma once
// Decides which records count as one source. A paper and its repository share machines, authors and ways of measuring.
// So do all rounds of MLPerf and all pages of one collection of examples. Each of them tells something about the
// others. Predictions scored as those of an unseen source leave all of it out.
//
// `sources.json` next to the folder of suites lists the citations of each source, as records give them. A name without
// citations is the citation itself.
//
//   {"schema": "lockstep/sources/1", "description": "...",
//    "sources": [{"name": "MLPerf Training", "citations": ["MLPerf Training v5.0 bert", ...]}, {"name": "A paper"}]}
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/validation/record.hpp"

namespace lockstep::sim::validation {

/// Name of the source of each citation.
using SourceTable = std::map<std::string, std::string>;

/// Reads the table of a folder of suites; none if it has no table. Throws InputError if a citation is there twice.
std::optional<SourceTable> load_sources(const std::string& folder_of_suites);

/// True if results of `source` may be used to predict `predicted`; both are Record::whole_source. A source never
/// predicts itself. A vendor's series of summaries is predicted forward in time: each summary by the older ones.
bool may_predict(const std::string& source, const std::string& predicted);

/// Names of all sources that stand in a series, for which may_predict() orders them.
std::vector<std::string> sources_in_series();

/// Lists figures of the catalogue whose source is that of a target, one per line. There must be none: the prediction
/// would know the value with which it is compared.
std::vector<std::string> figures_of_targets(const Catalogue& catalogue, const std::vector<Record>& records);

}  // namespace lockstep::sim::validation
