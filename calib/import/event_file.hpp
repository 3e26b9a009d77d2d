#pragma once
// Reads TensorBoard's event files, events.out.tfevents.*, as training logs.
//
// A file is a sequence of records: length (8 bytes), its checksum (4), an Event in protobuf's wire format, its checksum
// (4). Checksums are CRC-32C, masked (tensorflow/core/lib/io/record_writer.h). An Event has wall_time, step and Summary
// values, each a tag with a float or a tensor (tensorflow/core/util/event.proto, framework/summary.proto).
//
// Step times are in "iteration-time" (Megatron-LM), "train_step_timing in s" (NeMo) or "time_metrics/end_to_end(s)"
// (torchtitan). Files of HuggingFace's Trainer and Lightning have none of them. There the tag with most points counts: a
// step takes the difference of wall_time between two points over the difference of their steps. Tags with the words val,
// valid, validation, eval, evaluation or test, and without train, are evaluations. Tags whose steps count samples
// (DeepSpeed) come last, and give seconds per sample. Megatron-LM also writes "batch-size", "world-size", and its
// arguments as texts.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calib/import/training_log.hpp"

namespace lockstep::calib {

struct ScalarPoint {
  std::int64_t step = 0;
  double wall_time_s = 0;  ///< since 1970
  double value = 0;
  int record = 0;  ///< in the file, from 1
};

struct EventFile {
  std::map<std::string, std::vector<ScalarPoint>> scalars;  ///< by tag, in the order of the file
  std::map<std::string, std::string> texts;                 ///< by tag, the last one
  std::map<std::string, std::int64_t> last_not_finite;  ///< by tag, the step of its last value that is NaN or infinite
  bool is_cut_off = false;                              ///< the last record is incomplete: the writer was killed
};

/// CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(const std::string& bytes);

/// True if the bytes begin with a record's length and its checksum, or the first record names TensorBoard's version: a
/// damaged head is refused by read_event_file().
bool is_event_file(const std::string& bytes);

/// Throws InputError if a checksum is wrong or a record malformed.
EventFile read_event_file(const std::string& bytes, const std::string& name);

/// The file as a training log. `format` and `facts` as for read_training_log(). Throws InputError if there are no step
/// times or those of two programs. So do step times far from the time between their events, an evaluation between every
/// two points, and scalars that contradict the arguments.
TrainingLog read_event_log(const std::string& bytes, const std::string& name, const std::string& format = "",
                           const Json& facts = Json::object());

/// Reads a training log or an event file from disk.
TrainingLog read_training_file(const std::string& path, const std::string& format = "",
                               const Json& facts = Json::object());

}  // namespace lockstep::calib
