#pragma once
// What an importer ends with: logs may hold any figure, profiles may not.
#include "calib/import/imported.hpp"

namespace lockstep::calib {

/// The log without the samples that a profile's reader would refuse, which join `refused`. Throws InputError where none
/// is left of some.
Imported sound(Imported log, const std::string& name);

}  // namespace lockstep::calib
