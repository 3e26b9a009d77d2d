#pragma once
// Ctrl-C and SIGTERM for work that can stop in good order.

namespace lockstep {

/// From now on the first SIGINT or SIGTERM is only noted; a second one ends the process as ever. For programs whose work
/// asks interruption() often enough.
void note_interruptions();

/// The signal that has come, 0 for none. A program that stops for it exits with 128 + the signal, as shells count.
int interruption();

}  // namespace lockstep
