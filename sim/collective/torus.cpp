#include "sim/collective/collectives.hpp"

namespace lockstep::sim {
inline namespace collective {
namespace {

void append_to(Phase& phase, const Phase& more) {
  for (const Transfer& transfer : more.transfers) phase.transfers.push_back(transfer);
  phase.rounds = more.rounds;
}

}  // namespace

Plan torus_all_reduce(int ranks, int columns, std::int64_t bytes) {
  Plan plan{"torus", ranks, bytes, {}};
  if (ranks < 2) return plan;
  const int rows = ranks / columns;
  const std::int64_t row_chunk = chunk_bytes(bytes, columns);
  const std::int64_t column_chunk = chunk_bytes(row_chunk, rows);

  Phase scatter_rows, gather_rows, scatter_columns, gather_columns;
  for (int row = 0; row < rows && columns > 1; ++row) {
    std::vector<int> members;
    for (int column = 0; column < columns; ++column) members.push_back(row * columns + column);
    append_to(scatter_rows, ring_phase(members, row_chunk, columns - 1, true));
    append_to(gather_rows, ring_phase(members, row_chunk, columns - 1, false));
  }
  for (int column = 0; column < columns && rows > 1; ++column) {
    std::vector<int> members;
    for (int row = 0; row < rows; ++row) members.push_back(row * columns + column);
    append_to(scatter_columns, ring_phase(members, column_chunk, rows - 1, true));
    append_to(gather_columns, ring_phase(members, column_chunk, rows - 1, false));
  }
  for (Phase* phase : {&scatter_rows, &scatter_columns, &gather_columns, &gather_rows})
    if (!phase->transfers.empty()) plan.phases.push_back(std::move(*phase));
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
