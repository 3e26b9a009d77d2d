#include "sim/messages/pace.hpp"

#include <algorithm>
#include <simgrid/Exception.hpp>

namespace lockstep::sim::messages {

namespace sg4 = simgrid::s4u;

void Pace::compute(double seconds) {
  for (double left_s = seconds; left_s > 0;) {
    const double slows = this->slows(), began_s = sg4::Engine::get_clock();
    waits_ = true;
    const bool is_done = changed_->acquire_timeout(left_s * slows);
    // A change at this very moment may have released the semaphore as well: its token must not stay.
    if (is_done && !waits_) changed_->acquire();
    waits_ = false;
    if (is_done) return;
    left_s -= (sg4::Engine::get_clock() - began_s) / slows;
  }
}

// Slowed work is larger by the factor of the collectives, at the same bound. SimGrid divides the GPU among the streams,
// and can change neither share nor bound of running work.
double Pace::share(double seconds, double fill) {
  double lost_s = 0;
  for (double left = seconds * fill; left > 0;) {
    const double slows = this->slows(), began_s = sg4::Engine::get_clock();
    const auto piece = std::make_shared<Piece>();
    piece->exec = sg4::this_actor::exec_init(left * slows);
    piece->exec->set_bound(fill);
    pieces_.push_back(piece);
    const bool is_done = run_to_end(*piece);
    pieces_.erase(std::find(pieces_.begin(), pieces_.end(), piece));
    lost_s += (sg4::Engine::get_clock() - began_s) * (1 - 1 / slows);
    left = is_done ? 0 : piece->left / slows;
  }
  return lost_s;
}

bool Pace::run_to_end(Piece& piece) {
  try {
    piece.exec->start();
    piece.exec->wait();
    return true;
  } catch (const simgrid::CancelException&) {
    return false;
  }
}

void Pace::enter(double slows) {
  const double before = this->slows();
  in_flight_.insert(slows);
  tell(before);
}

void Pace::leave(double slows) {
  const double before = this->slows();
  in_flight_.erase(in_flight_.find(slows));
  tell(before);
}

void Pace::tell(double slows_before) {
  if (slows() != slows_before) {
    const auto stopped = pieces_;  // other actors run and change the list while one stops its work
    for (const std::shared_ptr<Piece>& piece : stopped) {
      piece->left = piece->exec->get_remaining();
      piece->exec->cancel();
    }
  }
  if (!waits_) return;
  waits_ = false;
  changed_->release();
}

}  // namespace lockstep::sim::messages
