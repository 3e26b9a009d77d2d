#include "sim/replay/gpu_compute.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

void GpuCompute::begin(double now_s, const Piece& piece) {
  serve(now_s);
  pieces_.push_back(piece);
  pieces_.back().left = piece.seconds * piece.fill;
  share_out();
}

void GpuCompute::enter_collective(double now_s, double slows) {
  serve(now_s);
  in_flight_.push_back(slows);
  share_out();
}

void GpuCompute::leave_collective(double now_s, double slows) {
  serve(now_s);
  in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), slows));
  share_out();
}

std::vector<GpuCompute::Piece> GpuCompute::end(double now_s) {
  double next_s = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < pieces_.size(); ++p) next_s = std::min(next_s, pieces_[p].left / rates_[p]);
  std::vector<Piece> ended, left;
  std::vector<bool> is_over;
  for (std::size_t p = 0; p < pieces_.size(); ++p)
    is_over.push_back(pieces_[p].left / rates_[p] <= next_s * (1 + 4 * std::numeric_limits<double>::epsilon()));
  serve(now_s);
  for (std::size_t p = 0; p < pieces_.size(); ++p) (is_over[p] ? ended : left).push_back(pieces_[p]);
  pieces_ = std::move(left);
  share_out();
  return ended;
}

double GpuCompute::slows() const {
  return in_flight_.empty() ? 1 : *std::max_element(in_flight_.begin(), in_flight_.end());
}

void GpuCompute::serve(double now_s) {
  const double passed_s = now_s - now_s_, slows = this->slows();
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    pieces_[p].left = std::max(0.0, pieces_[p].left - rates_[p] / slows * passed_s);
    pieces_[p].slowed_s += passed_s * (1 - 1 / slows);
  }
  now_s_ = now_s;
}

// Divides the GPU max-min fairly, smallest demands first: a piece that needs less than an equal part leaves the rest to
// the others.
void GpuCompute::share_out() {
  ++changes_;
  rates_.resize(pieces_.size());
  std::vector<std::size_t> by_fill(pieces_.size());
  std::iota(by_fill.begin(), by_fill.end(), std::size_t{0});
  std::sort(by_fill.begin(), by_fill.end(), [this](std::size_t a, std::size_t b) {
    return pieces_[a].fill != pieces_[b].fill ? pieces_[a].fill < pieces_[b].fill : a < b;
  });
  double free = 1;
  next_end_s_ = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < by_fill.size(); ++n) {
    const std::size_t p = by_fill[n];
    rates_[p] = std::min(pieces_[p].fill, free / static_cast<double>(by_fill.size() - n));
    free -= rates_[p];
    next_end_s_ = std::min(next_end_s_, now_s_ + pieces_[p].left * slows() / rates_[p]);
  }
}

}  // namespace lockstep::sim::replay
