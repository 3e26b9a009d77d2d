#include "engine/base/study.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/text.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".jsonl";
constexpr std::size_t kLargestStudy = std::size_t{1} << 30;

std::string file_in(const fs::path& folder, const std::string& name) {
  return (folder / (name + ".json")).string();
}

}  // namespace

std::string study_beside(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a path that ends in a slash: "out/"
  return path.string() + kEnding;
}

std::vector<StudyLine> load_study(const std::string& path) {
  std::string text, why;
  if (!try_read_file(path, kLargestStudy, text, why)) throw InputError(one_line(path + ": cannot read: " + why));
  const fs::path folder = fs::path(path).replace_extension();
  std::vector<StudyLine> lines;
  std::set<std::string> names;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const JsonDocument document = JsonDocument::parse(line, path + ": line " + std::to_string(number));
    const JsonNode root = document.root();
    const std::string schema = root.at("schema").text();
    if (schema == kSweepResultSchema) lines.push_back({file_in(folder, "sweep"), document});
    if (schema != kRunSchema) continue;
    const std::string name = root.at("name").text();
    if (!names.insert(name).second)
      root.at("name").fail(in_quotes(name) + " is there twice", "allowed: a line for each run");
    lines.push_back({file_in(folder, name), document});
  }
  return lines;
}

bool is_study(const std::string& path) {
  if (fs::path(path).extension() != kEnding) return false;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return false;
  const Json first = Json::parse(line, nullptr, false);
  return first.is_object() && first.value("schema", Json()) == kSweepResultSchema;
}

std::string study_text(const Json& sweep_result, const std::map<std::string, Json>& records) {
  std::vector<std::string> names;
  for (const auto& entry : records) names.push_back(entry.first);
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return a + ".json" < b + ".json"; });
  std::string text = sweep_result.dump() + "\n";
  for (const std::string& name : names) {
    Json line{{"name", name}};
    line.update(records.at(name));
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace lockstep
