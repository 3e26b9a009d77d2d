#pragma once
// Errors for scripts. With `--json -` a program that fails prints its line to standard error and one JSON object to
// standard output. With `--json FILE` it leaves FILE unchanged.
//
//   {"schema": "lockstep/error/1", "status": "refused", "program": "simulate job", "reason": "--gpu \"H1000\": ...",
//    "exit_code": 2}
//
// status: "refused" (bad usage or input), "does-not-fit" (the job needs more memory than its GPUs have), "failed" (the work
// could not be done).
#include <exception>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/printing.hpp"

namespace lockstep {

inline constexpr const char* kErrorSchema = "lockstep/error/1";

/// Whether a command line has `--json -`.
inline bool has_json_on_standard_output(const std::vector<std::string>& argv) {
  const std::string option = "--json";
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == option + "=" + kStandardOutput) return true;
    if (argv[i] == option && i + 1 < argv.size() && argv[i + 1] == kStandardOutput) return true;
  }
  return false;
}

inline Json error_json(const std::string& program, const char* status, const std::string& reason, int exit_code) {
  return {{"schema", kErrorSchema},
          {"status", status},
          {"program", program},
          {"reason", message_line(reason)},
          {"exit_code", exit_code}};
}

/// With `--json -`, writes the error to standard output as JSON. Returns `exit_code`.
inline int report_error(const std::vector<std::string>& argv, const std::string& program, const char* status,
                        const std::string& reason, int exit_code) {
  if (!has_json_on_standard_output(argv)) return exit_code;
  const Json error = error_json(program, status, reason, exit_code);
  std::fputs((error.dump(2, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stdout);
  std::fflush(stdout);
  return exit_code;
}

/// "does-not-fit" or "refused".
inline const char* status_of(const InputError& error) {
  return dynamic_cast<const NotEnoughMemory*>(&error) != nullptr ? "does-not-fit" : "refused";
}

}  // namespace lockstep
