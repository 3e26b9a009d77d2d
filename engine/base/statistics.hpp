#pragma once
// Small statistics over samples; inputs need not be sorted.
#include <vector>

namespace lockstep {

double mean(const std::vector<double>& samples);
/// Returns the sample standard deviation (n - 1); 0 for fewer than two samples.
double standard_deviation(const std::vector<double>& samples);
/// Quantile q in [0, 1] by linear interpolation between order statistics (Hyndman & Fan type 7).
double quantile(std::vector<double> samples, double q);
double median(std::vector<double> samples);
/// Computes the inverse of the standard normal distribution function, by algorithm AS 241 (M. J. Wichura, 1988);
/// relative error 1e-16.
double normal_quantile(double p);
/// Standard normal distribution function.
double normal_cdf(double x);
/// Expected maximum of n independent standard normal variables, by numeric integration; 0 for n = 1.
double expected_normal_maximum(int n);

}  // namespace lockstep
