#pragma once
// Derives from NCCL's own lines (calib/import/nccl_debug.hpp) which causes are present or absent.
//
// A statement is right with probability 1 - kFactError. It is wrong if its line belongs to another run, to another
// communicator, or to some ranks only. So a statement multiplies the odds of its cause by
// (1 - kFactError) / kFactError = 49, or divides them by 49. Two statements about one cause count once. Statements
// about a cause that changes no predicted time do not count.
#include <string>
#include <vector>

#include "calib/import/nccl_debug.hpp"
#include "sim/explain/causes.hpp"
#include "sim/explain/faults.hpp"

namespace lockstep::sim::explain {

constexpr double kFactError = 0.02;  ///< assumed

struct NcclStatement {
  CauseId cause = CauseId::normal;
  bool is_present = false;
  std::string text;  ///< "NET/Socket carries all 32 channels between nodes"
  std::string file;
  calib::NcclQuote quote;
  int count = 0;  ///< NICs or interfaces in use; 0: not known
};

/// The lines of one file.
struct NcclLog {
  std::string file;
  calib::NcclFacts facts;
};

/// Returns at most one statement for each cause. Lines that show what NCCL did count before variables that request it.
std::vector<NcclStatement> nccl_statements(const NcclLog& log, const NamedMachine& machine);

/// Returns the logarithm of the factor on a cause's likelihood, relative to a log without statements.
double log_fact_factor(bool is_present);

/// Throws InputError if the log's NICs contradict the network, as InfiniBand in place of RoCE.
void check_link_types(const NcclLog& log, const NamedMachine& machine);

/// Throws InputError if the log has no communicator of `ranks` ranks, or another number of nodes. `what`: "the table of a.log".
void check_ranks(const NcclLog& log, const std::string& what, int ranks, int nodes);

}  // namespace lockstep::sim::explain
