#pragma once
// Learning curves of run records (record.hpp) as a picture, as CSV rows, or as TensorBoard's events.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::train {

/// An epoch of a run, or an evaluation within one. The latter has no training loss.
struct CurvePoint {
  double epoch;
  double iterations;
  double images;
  double train_s;
  double test_accuracy;
  double train_loss;     ///< NaN: none
  double learning_rate;  ///< NaN: none
};

struct RunCurve {
  std::string name;         ///< the file's name without folders and ".json"; in a sweep with its cell: "ssgd-16/seed-1"
  std::string started_utc;  ///< of its provenance
  std::vector<CurvePoint> points;
  std::string cell = "";  ///< in a sweep: runs of one cell differ only in the seed; empty: the run belongs to no cell
};

/// Reads a record with schema lockstep/run/1, complete or not. Throws InputError with file and pointer.
RunCurve read_curve(const std::string& path);
RunCurve read_curve(const JsonDocument& document, const std::string& path);

/// Reads all runs of a record, of a folder that `train sweep` wrote, or of a study (FOLDER.jsonl), sorted by name.
/// Skips runs of the search for learning rates. Throws InputError, also if there is no run.
std::vector<RunCurve> read_curves(const std::string& path);

/// The runs of one cell as one curve. Its points are the iterations at which at least half of the runs have an
/// evaluation. `low` and `high` hold the smallest and largest test accuracy and training loss; both are empty if the
/// cell has one run. Runs are grouped by the name of their cell, so cells of the same name in two sweeps share a band.
struct SeedBand {
  RunCurve median;  ///< named "ssgd-16, median of 5 seeds"; a run without a cell is unchanged
  std::vector<CurvePoint> low, high;
};
std::vector<SeedBand> make_seed_bands(const std::vector<RunCurve>& runs);

/// The quantity that the x axis shows.
enum class Over { epochs, iterations, images, seconds };

/// An SVG picture of 900 x 640 units: test accuracy above, training loss below. Each run or cell has its own colour and
/// dash pattern. A cell is drawn as the median of its seeds, in a band from the smallest to the largest value.
/// Deterministic. Throws InputError if no run has a point.
std::string curves_svg(const std::vector<RunCurve>& runs, Over over);

/// One line per point: run, epoch, iterations, images, train_s, test_accuracy, train_loss, learning_rate. Missing
/// values are empty.
std::string curves_csv(const std::vector<RunCurve>& runs);

/// A file of events for TensorBoard. Records are framed with their length and the CRC-32C of length and data
/// (TFRecord). Each is a protocol buffer `Event` with the scalars test_accuracy, train_loss and learning_rate at the
/// iteration's number. Times are the run's start plus its seconds of training.
std::string curve_events(const RunCurve& run);

/// Computes CRC-32C (Castagnoli; RFC 3720, B.4): 0xE3069283 for "123456789".
std::uint32_t crc32c(const std::string& bytes);

}  // namespace lockstep::train
