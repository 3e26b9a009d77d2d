#include "engine/base/interrupt.hpp"

#include <csignal>

namespace lockstep {
namespace {

volatile std::sig_atomic_t g_signal = 0;

extern "C" void note_signal(int signal) {
  g_signal = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void note_interruptions() {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

int interruption() {
  return g_signal;
}

}  // namespace lockstep
