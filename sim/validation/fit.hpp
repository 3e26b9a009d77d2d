#pragma once
// Fits constants on records: `validate --fit`.
//
// A constant is looked up by a chain of names, the most specific first: "speed/a100-pcie/mixed", "speed/ampere/mixed",
// "speed/mixed". Its value is the prior (priors.hpp) times a factor for each name. A factor that was never fitted is 1.
// Members of a class that nobody has measured thus get the value of the class. Records of a member move its own factor.
// A GPU's generation and precision, software and family of networks are chains of their own, whose values are
// multiplied.
//
// All factors are fitted together (mixed_effects.hpp). The residual of a record is log(published / predicted). The
// logarithm of a factor is an effect; priors.hpp has its spread before any record. The common error of all records of
// one kind and source is an effect as well, which no prediction uses. A deviation that many sources show thus moves the
// constant. One that a single source shows is divided between the constant and the source. Predictions are linearised
// in the logarithms of the chains' values, by finite differences. The solved equations are linearised again at their
// solution (Gauss-Newton).
//
// Each kind of record may move some constants:
//
//   `rates of one GPU; MLPerf's up to 64`      Speeds of GPUs, memories, software, families, kernel and host launches.
//   `rates of transformers that are split`     The same.
//   `epochs`                                   Epochs at small batch, critical batch.
//   `all-reduces alone, exchanges`             Shares of links and networks, operations, messages.
//   `rates and efficiencies of several GPUs`   Jitter, shares of TCP networks.
//   `rates where processors decode images`     Images decoded.
//   `times of trainings with a given rate`     Share of evaluations.
//   `times of trainings without one`           The time of trainings over that of benchmarks.
//   `whole trainings`                          The calendar time of language models over that with the fastest split.
//
// The first and the third kind are fitted without values that their experiments give, so that constants alone describe
// the record. All records with a given or a target value count. Leaving out whole sources (scoring.hpp) measures the
// error of predictions: the same linear equations are solved without them. fit_sensitivity.hpp does so with other
// spreads and noise, too.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/validation/fit_sensitivity.hpp"
#include "sim/validation/predict.hpp"

namespace lockstep::sim {
inline namespace validation {

using Tell = std::function<void(const std::string& line)>;

/// Records with a value that the fit uses: given ones and those to be predicted.
std::vector<Record> fit_input(const std::vector<Record>& records);

struct FittedConstants {
  Catalogue all;
  std::map<std::string, Catalogue> without;   ///< by whole source: constants fitted on all other sources
  std::vector<FitSensitivity> sensitivities;  ///< if requested
};

/// Fits the constants, and fits them again without each source (Record::whole_source) of the records. `tell` gets a line per
/// round.
FittedConstants fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs,
                              const Tell& tell = {}, bool with_sensitivities = false);

/// Writes the content of fitted.json.
Json constants_json(const Catalogue& catalogue);

}  // namespace validation
}  // namespace lockstep::sim
