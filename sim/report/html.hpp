#pragma once
// Writes each result as one HTML page that opens offline. Style, scripts, chart library and the document itself are
// inside. Its Content-Security-Policy forbids it to fetch anything. sim/report/html/ holds the parts.
#include <string>

#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::report {

/// The page for a document of schema lockstep/result/1 (simulate --json), lockstep/plan-result/1 (plan --json) or
/// lockstep/validation/1 (validate --json). The same document gives the same bytes; the document stands in the page
/// as JSON, in the element with the id "document". Throws std::invalid_argument for any other schema.
std::string html_page(const Json& document);

/// A page of the same style without scripts. `body` is HTML, the title is text.
std::string static_page(const std::string& title, const std::string& body);

}  // namespace lockstep::sim::report
