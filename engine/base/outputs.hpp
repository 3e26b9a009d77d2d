#pragma once
// Checks a program's outputs before its work begins.
#include <string>
#include <vector>

namespace lockstep {

/// The path that writes a JSON output to standard output.
inline constexpr const char* kStandardOutput = "-";

/// Call it before long work, so that a wrong path does not cost the result. An empty path means no output. Standard
/// output and /dev/null can always be written. Throws InputError if an output cannot be written (atomic_file.hpp), if
/// two outputs are the same file or both standard output, or if an output would replace one of `inputs`. Links are
/// followed.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs = {});

}  // namespace lockstep
