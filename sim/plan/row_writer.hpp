#pragma once
// Writes texts of very many rows in their order. Making a row's text takes longer than predicting its point, so that
// several processes make them.
#include <functional>
#include <string>

namespace lockstep::sim::plan {

/// Writes text_of(0, n), text_of(n, 2 n), ... up to `rows`. With 0 or 1 `jobs`, or few rows, this process makes all of
/// them, else up to `jobs` forked ones. Throws std::runtime_error if one of them dies.
void write_rows(std::size_t rows, int jobs,
                const std::function<std::string(std::size_t from, std::size_t until)>& text_of,
                const std::function<void(const std::string& piece)>& write);

}  // namespace lockstep::sim::plan
