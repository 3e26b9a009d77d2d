#pragma once
// Constants from records: `validate --fit`.
//
// Stages, in this order; each fits its constants one after the other, by a pattern search in log(value) on the mean of
// |log(published / predicted)| over the records that use the constant (of an efficiency the difference; at most 36,
// evenly spread), twice over:
//
//   1. speed of GPUs and software, kernel launches        rates of one GPU; MLPerf's rates
//   2. epochs at small batch, critical batch               epochs
//   3. shares of links, calls, messages, pipeline fill     all-reduces alone, exchanges
//   4. shares of links and networks, hops, jitter          rates and speed-ups of several GPUs
//   5. share of evaluations                                times to accuracy
//   6. bounds                                              the 0.88 quantile of |error| over the inputs' uncertainty
//
// A search begins with a few values far apart. Launches are judged by how alike the errors of one GPU are, whatever its
// speed. Only records marked `given` and `fit` are read; those marked `test` are dropped before anything else. Stages 1
// to 3 see records without what their experiments give, so that constants stand for the record itself. A constant that
// no record bears out is left out; one of a wider class is the geometric mean of its members. The same records give the
// same constants.
#include <functional>
#include <string>
#include <vector>

#include "sim/records/predict.hpp"

namespace lockstep::sim {

/// The catalogue with constants fitted anew. `tell` gets a line per constant.
Catalogue fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs,
                        const std::function<void(const std::string&)>& tell = {});

/// The file fitted.json.
Json constants_json(const Catalogue& catalogue);

}  // namespace lockstep::sim
