#pragma once
// The last step of an importer: removes figures that a log may have but a profile may not.
#include "calib/import/imported.hpp"

namespace lockstep::calib {

/// Moves samples that a profile's reader would refuse to `refused`. Throws InputError if that removes all samples.
Imported sound(Imported log, const std::string& name);

}  // namespace lockstep::calib
