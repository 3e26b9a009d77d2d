#pragma once
// Laws of the loss of a language model: from parameters, tokens and batch to the loss, and back to the tokens.
//
//   `L(N, D)  = E + (A / N^alpha + B / D_min^beta)^gamma      nats per token`
//   `D        = D_min (1 + batch / B_crit)                     tokens needed at this batch`
//   `B_crit   = critical_at_1e10 (D_min / 1e10)^critical_exponent   tokens`
//
// With gamma = 1 this is Chinchilla's form (Hoffmann et al. 2022, approach 3). With E = 0, beta = 1 and gamma =
// alpha_D it is Kaplan's (2020, eq. 1.5), as an approximation: that paper trains for many steps on a data set of D
// tokens.
//
// D_min is the number of tokens needed in the limit of small batches: (S/S_min - 1)(D/D_min - 1) = 1 (McCandlish et al.
// 2018, eq. 2.11). The critical batch is a power of D_min, the same for all N. Below it, a larger batch needs few extra
// tokens. Far above it, the number of steps stops falling. Batches that train worse because they are too small are not
// modelled: a larger batch never lowers the loss.
//
// N counts parameters as for the law's runs (ParameterCount). For a mixture of experts, N is between the active and all
// parameters (effective_parameters()).
#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "sim/convergence/critical_batch.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::loss {

/// The parameters that N counts.
enum class ParameterCount { all, without_embeddings };

/// Holds a value and its prediction interval.
struct BoundedValue {
  double middle = 0, low = 0, high = 0;
};

struct Interval {
  double low = 0, high = 0;
  bool contains(double x) const { return x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9); }
};

/// The law's parameters in the fit. Amplitudes are at N = 1e9 and D_min = 1e10, where they hardly correlate with
/// exponents.
enum LossParameter { kLogE, kLogA, kLogB, kAlpha, kBeta, kLogCritical, kCriticalExponent, kLossParameters };
using LossVector = Eigen::Matrix<double, kLossParameters, 1>;
using LossMatrix = Eigen::Matrix<double, kLossParameters, kLossParameters>;

constexpr double kLossCoverage = kIntervalCoverage;  ///< coverage of all intervals of losses and tokens
constexpr double kReferenceParameters = 1e9;
constexpr double kReferenceTokens = 1e10;

struct LossLaw {
  std::string id, name;
  std::vector<std::string> aliases;
  std::string kind;             ///< "published" or "fitted"
  std::string source;           ///< source of the constants
  std::string critical_source;  ///< source of the critical batch, which may come from another law
  std::string data;             ///< text and vocabulary of the runs; others shift the loss
  ParameterCount counts = ParameterCount::all;
  /// ln E, ln(A / 1e9^alpha), ln(B / 1e10^beta), alpha, beta, ln(critical batch at D_min = 1e10), its exponent. ln E is
  /// -infinity if the law has no E.
  LossVector parameters = LossVector::Zero();
  LossMatrix covariance = LossMatrix::Zero();
  double gamma = 1;
  double spread = 0;   ///< scale of Student's t, by which ln L of runs scatters about the law
  double degrees = 4;  ///< degrees of freedom of that t
  Interval parameter_range, token_range,
      batch_range;  ///< ranges of the runs; batch_range.high = 0: their batches are unknown

  double amplitude_a() const;
  double amplitude_b() const;
};

/// Returns the least loss that `parameters` reach, with unlimited data.
double least_loss(const LossLaw& law, double parameters);
/// Returns the critical batch, in tokens, of a training that needs `minimal_tokens` with small batches.
double critical_batch(const LossLaw& law, double minimal_tokens);
/// These convert D_min to D, and D to D_min. Both return tokens. `batch_tokens` 0: a small batch.
double tokens_at_batch(const LossLaw& law, double minimal_tokens, double batch_tokens);
double minimal_tokens(const LossLaw& law, double tokens, double batch_tokens);

double loss_of(const LossLaw& law, double parameters, double tokens, double batch_tokens);
/// Returns D_min; infinity if the loss is at most least_loss().
double minimal_tokens_to(const LossLaw& law, double parameters, double loss);

/// Returns the loss, with the interval that covers a new run's loss with probability `coverage`. Outside the range of
/// the law's runs, the spread is multiplied by 1 + ln(N / N_max) + ln(D / D_max) (assumed).
BoundedValue predict_loss(const LossLaw& law, double parameters, double tokens, double batch_tokens, double coverage);
/// Returns the tokens to a loss. `middle` or `high` is infinite if the loss, or its upper end, is out of reach.
BoundedValue predict_tokens(const LossLaw& law, double parameters, double loss, double batch_tokens, double coverage);

/// Returns how far a point is outside the law's runs: "4.1e11 parameters are 25 times the most of its runs". Empty if
/// it is within their range.
std::vector<std::string> beyond_range(const LossLaw& law, double parameters, double tokens);

/// The size and tokens with the least loss for a training of 6 N D operations, at a small batch. The 80 % interval of
/// the size follows from the covariance of the law's parameters.
struct ComputeOptimum {
  BoundedValue parameters;
  double tokens = 0, loss = 0;
};
ComputeOptimum optimum_of(const LossLaw& law, double flops);

/// Returns N of a mixture of experts: the geometric mean of active and all parameters, with these two as bounds
/// (assumed). For a dense model, all three are equal.
BoundedValue effective_parameters(double active, double all);

}  // namespace lockstep::sim::loss
