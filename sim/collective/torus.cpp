#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {
namespace {

// Adds `count` parallel rings, each of `members` ranks `stride` apart. The i-th begins at rank i * apart.
Phase rings(int count, int apart, int members, int stride, std::int64_t bytes, bool reduces) {
  Phase phase;
  phase.rounds = members - 1;
  for (int member = 0; member < members; ++member) {
    const int next = (member + 1) % members;
    phase.transfers.append(Run{member * stride, next * stride, bytes, reduces, count, apart, apart});
  }
  return phase;
}

// Adds the same rings, with runs along each ring instead of across rings: fewer runs if rings have many members.
Phase long_rings(int count, int apart, int members, int stride, std::int64_t bytes, bool reduces) {
  Phase phase;
  phase.rounds = members - 1;
  for (int ring = 0; ring < count; ++ring) {
    const Phase one = ring_phase(ring * apart, stride, members, bytes, 1, reduces);
    for (const Run& run : one.transfers.blocks().front()->runs()) phase.transfers.append(run);
  }
  return phase;
}

}  // namespace

Plan torus_all_reduce(int ranks, int columns, std::int64_t bytes) {
  Plan plan{"torus", ranks, bytes, {}};
  if (ranks < 2) return plan;
  const int rows = ranks / columns;
  const std::int64_t row_chunk = chunk_bytes(bytes, columns);
  const std::int64_t column_chunk = chunk_bytes(row_chunk, rows);
  const auto along_rows = [&](bool reduces) {
    const auto make = columns < rows ? rings : long_rings;
    if (columns > 1) plan.phases.edit().push_back(make(rows, columns, columns, 1, row_chunk, reduces));
  };
  const auto along_columns = [&](bool reduces) {
    const auto make = rows < columns ? rings : long_rings;
    if (rows > 1) plan.phases.edit().push_back(make(columns, 1, rows, columns, column_chunk, reduces));
  };
  along_rows(true);
  along_columns(true);
  along_columns(false);
  along_rows(false);
  return plan;
}

}  // namespace lockstep::sim::collective
