#pragma once
// Turns a published result into the workloads that must be timed for its prediction.
//
// Given results of the same experiment supply measured rates, epochs, and all-reduces of other sizes and numbers of
// GPUs. The stack model (sim/stack/stack_model.hpp) does the rest. If a result's job is not in the catalogue or cannot
// be simulated, it is `unmapped`, with the reason.
#include <vector>

#include "sim/quantity/quantity_task.hpp"
#include "sim/validation/record.hpp"

namespace lockstep::sim::validation {

struct MapOptions : StackOptions {
  bool use_anchors = true;  ///< uses all-reduces that the experiment gives
};

/// `record` is resolved. `given` is the output of given_results(): the results that may be used, in an order that does
/// not depend on that of their file.
QuantityTask task_of(const Record& record, const std::vector<Record>& given, const Catalogue& catalogue,
                     const MapOptions& options = {});

/// Returns the input records, resolved and sorted by id, so that predictions do not depend on the order of a file.
std::vector<Record> given_results(const std::vector<Record>& records, const Catalogue& catalogue);

}  // namespace lockstep::sim::validation
