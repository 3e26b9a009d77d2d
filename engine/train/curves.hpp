#pragma once
// Learning curves of run records (record.hpp), for people and other programs: a picture, rows, TensorBoard's events.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::train {

/// An epoch of a run, or an evaluation within one, whose training loss is then not known.
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
  std::string name;         ///< of the file, without folders and ".json"; in a sweep with its cell: "ssgd-16/seed-1"
  std::string started_utc;  ///< of its provenance
  std::vector<CurvePoint> points;
  std::string cell = "";  ///< in a sweep: runs of one cell differ in the seed alone; empty: the run stands alone
};

/// Of a record with schema lockstep/run/1, finished or not. Throws InputError with file and pointer.
RunCurve read_curve(const std::string& path);
RunCurve read_curve(const JsonDocument& document, const std::string& path);

/// Reads all runs of a record, of a folder that `train sweep` wrote, or of a study (FOLDER.jsonl), sorted by name. Skips trials of
/// the search for learning rates. Throws InputError, also if there is no run.
std::vector<RunCurve> read_curves(const std::string& path);

/// The runs of one cell as one curve. Its points are the iterations at which at least half of the runs have an evaluation. `low`
/// and `high` hold the least and greatest test accuracy and training loss; both are empty if the cell has one run. Runs are
/// grouped by the name of their cell, so cells of the same name in two sweeps share a band.
struct SeedBand {
  RunCurve median;  ///< named "ssgd-16, median of 5 seeds"; a run that stands alone is as it is
  std::vector<CurvePoint> low, high;
};
std::vector<SeedBand> make_seed_bands(const std::vector<RunCurve>& runs);

/// What the curves run over.
enum class Over { epochs, iterations, images, seconds };

/// An SVG picture of 900 x 640: test accuracy above, training loss below. Each run or cell has a colour and a dash; a cell is drawn
/// as the median of its seeds, in a band from least to greatest. Deterministic. Throws InputError if no run has a point.
std::string curves_svg(const std::vector<RunCurve>& runs, Over over);

/// A line per point: run, epoch, iterations, images, train_s, test_accuracy, train_loss, learning_rate; empty where there
/// is none.
std::string curves_csv(const std::vector<RunCurve>& runs);

/// A file of events for TensorBoard: framed records of length, data and CRC-32C of each (TFRecord), in them protocol
/// buffers `Event` with scalars test_accuracy, train_loss and learning_rate at the iteration's number; times are the run's
/// begin and its seconds of training.
std::string curve_events(const RunCurve& run);

/// CRC-32C (Castagnoli; RFC 3720, B.4): 0xE3069283 of "123456789".
std::uint32_t crc32c(const std::string& bytes);

}  // namespace lockstep::train
