#pragma once
// Constants from records: `validate --fit`.
//
// Stages, in this order; each fits its constants one after the other, by a pattern search in log(value) on the sum of
// |log(published / predicted)| over the records that use the constant (of an efficiency the difference; at most 36,
// evenly spread), twice over:
//
//   1. speed of GPUs and memories, kernel launches         rates of one GPU; MLPerf's rates
//   2. speed of software, what is left of its rates        the same
//   3. epochs at small batch, critical batch               epochs
//   4. shares of links, calls, messages, pipeline fill     all-reduces alone, exchanges
//   5. shares of TCP networks, jitter                      rates and efficiencies of several GPUs
//   6. share of evaluations                                times of trainings
//   7. bounds                                              left-out predictions, made without the record's own paper:
//                                                          half width hypot(floor, spread times the inputs' own), in
//                                                          the logarithm, per class, with the least interval score
//
// Within a stage the widest classes come first ("link share/pcie" before "link share/nccl/pcie-k80"): what holds for
// all members of a class stands in for those that have no constant of their own. A constant of a narrower class is
// pulled towards what stands in for it, needs three records, and is left out again where it does not pay: where the sum
// over its records falls by less than 0.05 + 0.005 each.
//
// In stage 4, where a paper is a machine, its records count as the root of their number, so that what stands in for a
// machine never seen is not that of the longest table. Shares of links stay below what links can do. Bounds hold 0.8
// of the records, papers weighed alike.
//
// A search begins with a few values far apart. Launches are judged by how alike the errors of one GPU are, whatever its
// speed. Only fit_input() is read. Stages 1, 2 and 4 see records without what their experiments give, so that constants
// stand for the record itself. The same records give the same constants.
#include <functional>
#include <string>
#include <vector>

#include "sim/records/predict.hpp"

namespace lockstep::sim {

using Tell = std::function<void(const std::string& line)>;

/// All that the fit ever sees: the records marked `given` and `fit`.
std::vector<Record> fit_input(const std::vector<Record>& records);

/// The catalogue with constants fitted anew, but for the bounds. `tell` gets a line per constant. With `prefix`, those
/// alone whose names begin so; the others, and the bounds, stay as they are.
Catalogue fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs, const Tell& tell = {},
                        const std::string& prefix = "");

/// Adds the calibrations of bounds, from predict_left_out() of records marked `fit`; others are not looked at.
void calibrate_bounds(Catalogue& fitted, const std::vector<Prediction>& left_out);

/// Predicts every target as if its paper had never been seen: all constants that rest on any record with its `source`
/// are fitted again without those records, or left out where none remain. What the paper's experiments give (rates of
/// one GPU, ...) is still used, as it is for a paper that is new. In the order of `targets`.
std::vector<Prediction> predict_left_out(const Catalogue& fitted, const std::vector<Record>& records,
                                         const std::vector<const Record*>& targets, int jobs, const Tell& tell = {});

/// The file fitted.json.
Json constants_json(const Catalogue& catalogue);

}  // namespace lockstep::sim
