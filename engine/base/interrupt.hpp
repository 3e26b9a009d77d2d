#pragma once
// Ctrl-C and SIGTERM for work that can stop cleanly.

namespace lockstep {

/// From now on the first SIGINT or SIGTERM is only recorded; a second one ends the process. Call it in programs that
/// poll interruption() regularly.
void note_interruptions();

/// The signal that was received, 0 if none. A program that stops for it exits with 128 + the signal, as shells expect.
int interruption();

}  // namespace lockstep
