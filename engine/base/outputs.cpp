#include "engine/base/outputs.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;  // false if one of them does not exist
  const fs::path first = fs::weakly_canonical(fs::absolute(a, ignored), ignored);
  return !first.empty() && first == fs::weakly_canonical(fs::absolute(b, ignored), ignored);
}

}  // namespace

void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::vector<std::string> checked;
  if (std::count(outputs.begin(), outputs.end(), kStandardOutput) > 1)
    throw InputError(std::string(kStandardOutput) +
                     ": two outputs on standard output; allowed: a file for each but one of them");
  for (const std::string& path : outputs) {
    if (path.empty() || path == kStandardOutput || is_null_device(path)) continue;
    std::string why;
    if (!output_path_is_writable(path, why)) throw InputError(path + ": cannot be written: " + why);
    for (const std::string& input : inputs)
      if (is_same_file(path, input))
        throw InputError(path + ": is read and would be replaced; allowed: another file for the output");
    for (const std::string& other : checked)
      if (is_same_file(path, other)) throw InputError(path + ": two outputs in one file; allowed: a file for each");
    checked.push_back(path);
  }
}

}  // namespace lockstep
