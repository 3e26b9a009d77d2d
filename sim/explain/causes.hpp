#pragma once
// Why a machine or a job is slower than expected: each cause with its prior, and how it is told from the others.
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::explain {

enum class CauseId {
  normal,
  sockets,
  fewer_nics,
  no_gpudirect,
  slow_nic,
  no_peer_access,
  pcie_link,
  slow_link,
  no_nvls,
  slow_launch,
  low_clocks,
  precision,
  attention,
  recomputation,
  bubble,
  no_overlap,
  data_loader,
  experts,
  pauses
};

inline const Choices<CauseId>& choices_of(CauseId) {
  static const Choices<CauseId> all{{CauseId::normal, "normal"},
                                    {CauseId::sockets, "tcp-sockets"},
                                    {CauseId::fewer_nics, "fewer-nics"},
                                    {CauseId::no_gpudirect, "no-gpudirect"},
                                    {CauseId::slow_nic, "slow-nic"},
                                    {CauseId::no_peer_access, "no-peer-access"},
                                    {CauseId::pcie_link, "pcie-link"},
                                    {CauseId::slow_link, "slow-link"},
                                    {CauseId::no_nvls, "no-nvls"},
                                    {CauseId::slow_launch, "slow-launch"},
                                    {CauseId::low_clocks, "low-clocks"},
                                    {CauseId::precision, "precision"},
                                    {CauseId::attention, "attention"},
                                    {CauseId::recomputation, "recomputation"},
                                    {CauseId::bubble, "pipeline-bubble"},
                                    {CauseId::no_overlap, "no-overlap"},
                                    {CauseId::data_loader, "data-loader"},
                                    {CauseId::experts, "expert-imbalance"},
                                    {CauseId::pauses, "pauses"}};
  return all;
}

inline constexpr const char* kNcclDebug = "NCCL_DEBUG=INFO";

/// A test that tells a cause from the others.
struct DecidingTest {
  std::string run;     ///< a command, or where to look
  std::string yes_if;  ///< its result if the cause is present
};

/// Numbers of cases with a cause among those of use `prior` (tests/check/cases.json), by the kind of measurement.
struct PriorCases {
  int of_collectives = 0;
  int of_trainings = 0;
};

/// Says what was measured. Causes that people find behind slow steps are not those behind slow collectives.
struct MeasuredKinds {
  bool has_collectives = false;  ///< collectives, transfers, copies
  bool has_trainings = false;
};

struct Cause {
  CauseId id = CauseId::normal;
  std::string title;
  /// The prior weight of a cause is one more (Laplace's rule). No share of normal measurements is published: see prior_of().
  PriorCases cases{};
  std::vector<DecidingTest> tests;  ///< the most conclusive first; none for "as expected"
};

const std::vector<Cause>& causes();
const Cause& cause_of(CauseId id);

/// "ibstat: yes if no port is Active".
std::string test_text(const DecidingTest& test);
/// Writes all of them in one line.
std::string tests_text(const std::vector<DecidingTest>& tests);

/// Half of all checked measurements are assumed to be normal; the other half is divided among those of `applicable` by their
/// cases plus one. Cases of trainings count if a training was measured, those of collectives if a collective was.
double prior_of(CauseId id, const std::vector<CauseId>& applicable, const MeasuredKinds& kinds);

}  // namespace lockstep::sim::explain
