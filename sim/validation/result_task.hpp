#pragma once
// From a published result to the workloads that must be timed for its prediction.
//
// Given results of the same experiment supply measured rates, all-reduces of other sizes and numbers of GPUs, and epochs; the
// stack model (sim/stack/stack_model.hpp) does the rest. A result whose job is not in the catalogue, or is not simulated, is
// `unmapped`, with the reason.
#include <vector>

#include "sim/quantity/quantity_task.hpp"
#include "sim/validation/record.hpp"

namespace lockstep::sim::validation {

struct MapOptions : StackOptions {
  bool use_anchors = true;  ///< given all-reduces of the experiment
};

/// `record` is resolved. `given` are the results that may be used, in an order that does not depend on the file they came
/// from: given_results().
QuantityTask task_of(const Record& record, const std::vector<Record>& given, const Catalogue& catalogue,
                     const MapOptions& options = {});

/// The input records, resolved and sorted by id, so that predictions do not depend on the order of a file.
std::vector<Record> given_results(const std::vector<Record>& records, const Catalogue& catalogue);

}  // namespace lockstep::sim::validation
