#pragma once
// Records of publications in explicit keys: what the translator has read in them, to look at, correct and keep.
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/records/record.hpp"

namespace lockstep::sim {
inline namespace records {

/// The same records, each in explicit keys with what the file says of its origin; predicted, they give the same.
/// `document` is the file's content, of which `records` were read in their order.
Json explicit_records(const Json& document, const std::vector<Record>& records, const Catalogue& catalogue);

}  // namespace records
}  // namespace lockstep::sim
