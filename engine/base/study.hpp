#pragma once
// A study: the content of a sweep's folder STUDY in one file of JSON lines, STUDY.jsonl. The first line is the sweep's
// result (schema "lockstep/sweep-result/1"). Each further line is the record of a run ("lockstep/run/1"), in the order
// of the files. Its "name" is the name of its file in the folder, without ".json" ("ssgd-16/seed-1").
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

inline constexpr const char* kRunSchema = "lockstep/run/1";
inline constexpr const char* kSweepResultSchema = "lockstep/sweep-result/1";

struct StudyLine {
  std::string file;       ///< its name in the folder: STUDY/NAME.json, STUDY/sweep.json
  JsonDocument document;  ///< its errors name file and line
};

/// Returns the study's file for a sweep's folder: "out" -> "out.jsonl".
std::string study_beside(const std::string& folder);
/// Skips empty lines and lines of other schemas. Throws InputError for a line that is no JSON or has no schema, and for
/// a record whose name is missing or repeated.
std::vector<StudyLine> load_study(const std::string& path);
/// True for a .jsonl file whose first line is the result of a sweep. Other JSON lines (samples, journals) are no study.
bool is_study(const std::string& path);

/// Returns the content of a study; `records` by name.
std::string study_text(const Json& sweep_result, const std::map<std::string, Json>& records);

}  // namespace lockstep
