#pragma once
#include <string>

namespace lockstep {

/// Formats as printf does, at any length; the compiler checks the arguments. "%-4s" pads by bytes.
std::string format_printf(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

}  // namespace lockstep
