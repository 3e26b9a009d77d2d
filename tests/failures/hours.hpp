#pragma once
// Seconds of an hour and a day, in which publications count interruptions.

namespace lockstep::tests {

constexpr double kMinute_s = 60, kHour_s = 3600, kDay_s = 86400;

}  // namespace lockstep::tests
