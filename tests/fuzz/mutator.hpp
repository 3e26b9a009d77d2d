#pragma once
// Mutations of texts: what formats of words, numbers, strings and brackets are broken by.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::fuzz {

/// One of the inputs, changed at one to four places. The same `number` gives the same bytes on every machine.
std::string mutated(const std::vector<std::string>& corpus, std::uint64_t number);

}  // namespace lockstep::fuzz
