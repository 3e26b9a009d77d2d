#pragma once
// Ctrl-C and SIGTERM: for work that can stop cleanly, and for work that says what it kept.
#include <string>

namespace lockstep {

/// From now on the first SIGINT or SIGTERM is only recorded; a second one ends the process. Call it in programs that
/// poll interruption() regularly.
void note_interruptions();

/// From now on SIGINT or SIGTERM writes `message` to standard error and ends the process by that signal. Processes that
/// it forks end silently.
void say_on_interruption(const std::string& message);

/// The signal that was received, 0 if none. A program that stops for it exits with 128 + the signal, as shells expect.
int interruption();

}  // namespace lockstep
