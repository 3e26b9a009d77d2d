#pragma once
// What a program is to write, checked before it works.
#include <string>
#include <vector>

namespace lockstep {

/// The path of a JSON output that stands for standard output.
inline constexpr const char* kStandardOutput = "-";

/// Asked before long work, so that nothing is lost to a bad path. An empty path is an output that is not asked for.
/// Standard output and /dev/null can always be written. Throws InputError where an output cannot be written (atomic_file.hpp), where two are one file, or where one is
/// among `inputs`, which it would replace; links are followed.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs = {});

}  // namespace lockstep
