#pragma once
// The texts that HTML pages are put together from, embedded by CMakeLists.txt of this folder.
#include <string_view>

#include "sim/modules.hpp"

namespace lockstep::sim::report {

extern const std::string_view page_html;      ///< the frame, with {{name}} where a part comes
extern const std::string_view page_css;       ///< the style
extern const std::string_view page_js;        ///< this folder's scripts, joined
extern const std::string_view chart_js;       ///< Chart.js 3, minified
extern const std::string_view chart_licence;  ///< its licence, as text

}  // namespace lockstep::sim::report
