#pragma once
// Inside sim/records: the parts of job_of() that search texts.
#include "sim/catalogue/catalogue.hpp"
#include "sim/records/job_spec.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
inline namespace records {

/// `text` contains one of `parts`, in lower case.
bool says(const std::string& text, std::initializer_list<const char*> parts);
/// One of the words of `text` is one of `words`.
bool has_word(const std::string& text, std::initializer_list<const char*> words);

/// What a record measures, by the many names and units that publications have for it: "step_time_ms", "algbw" in "MB/s",
/// "efficiency" in "%". With Measure::why_not for a unit that does not fit the metric.
Measure measure_in_texts(const Record& record);

/// Transport, all-reduce and what is said of fusion, overlap, servers; needs the software.
void translate_algorithm(const Record& record, JobSpec& job, const Catalogue& catalogue);
/// Link in a node and network; needs the software and the GPU.
void translate_machine(const Record& record, JobSpec& job, const Catalogue& catalogue);
/// What the metric is of: baselines, epochs, layers, gradients, periods.
void translate_conditions(const Record& record, JobSpec& job);

/// Of an arrival time or a share of gradients that has come; none for any other metric.
std::optional<ArrivalSpec> arrival_in_texts(const Record& record);

}  // namespace records
}  // namespace lockstep::sim
