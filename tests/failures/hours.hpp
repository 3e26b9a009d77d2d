#pragma once
// Seconds of the hours and days that publications of interruptions count in.

namespace lockstep::tests {

constexpr double kMinute_s = 60, kHour_s = 3600, kDay_s = 86400;

}  // namespace lockstep::tests
