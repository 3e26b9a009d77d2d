#pragma once
// The records of one study in one file of JSON lines, STUDY.jsonl: what a sweep's folder STUDY holds. First the sweep's
// result (schema "lockstep/sweep-result/1"), then a record of a run ("lockstep/run/1") a line, in the order of their
// files, each with its "name": what its file is called in the folder, without ".json" ("ssgd-16/seed-1").
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

inline constexpr const char* kRunSchema = "lockstep/run/1";
inline constexpr const char* kSweepResultSchema = "lockstep/sweep-result/1";

struct StudyLine {
  std::string file;       ///< of the folder: STUDY/NAME.json, STUDY/sweep.json
  JsonDocument document;  ///< its errors name file and line
};

/// The file beside the folder that keeps the same: "out" -> "out.jsonl".
std::string study_beside(const std::string& folder);
/// Lines of other schemas are passed over, empty ones too. Throws InputError: a line that is no JSON or has no schema,
/// a record without a name or with one that is there twice.
std::vector<StudyLine> load_study(const std::string& path);
/// Whether the file begins as a study does: other JSON lines (samples, journals) do not.
bool is_study(const std::string& path);

/// The whole file; `records` by name.
std::string study_text(const Json& sweep_result, const std::map<std::string, Json>& records);

}  // namespace lockstep
