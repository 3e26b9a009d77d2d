#pragma once
// Mutations of texts that break formats of words, numbers, strings and brackets.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::fuzz {

/// Returns one of the inputs, changed at one to four places. The same `number` gives the same bytes on every machine.
std::string mutated(const std::vector<std::string>& corpus, std::uint64_t number);

}  // namespace lockstep::fuzz
