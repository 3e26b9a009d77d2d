#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/svg.hpp"
#include "engine/base/text.hpp"
#include "sim/explain/check.hpp"
#include "sim/explain/check_text.hpp"
#include "sim/report/html.hpp"

namespace lockstep::sim::explain {
namespace {

constexpr double kWidth = 1000, kLabelWidth = 150, kRowHeight = 22, kRowStep = 30, kLegendHeight = 26;
constexpr int kColumns = 850;           // of a timeline: what lasts shorter is not drawn
constexpr std::size_t kMostLines = 16;  // ranks

const std::string& colour_of_part(calib::StepPart part) {
  return svg::colours()[static_cast<std::size_t>(part)];
}

std::string html_row(const std::vector<std::string>& cells, bool is_head) {
  std::string html = "<tr>";
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string of_numbers = c > 0 ? " class=\"number\"" : "", text = svg::escaped(cells[c]);
    if (text.empty())
      html += "<td></td>";
    else if (is_head)
      html += "<th scope=\"col\"" + of_numbers + ">" + text + "</th>";
    else
      html += c == 0 ? "<th scope=\"row\">" + text + "</th>" : "<td" + of_numbers + ">" + text + "</td>";
  }
  return html + "</tr>\n";
}

std::string html_table(const TextRows& rows) {
  std::string html = "<div class=\"table-box scroller\" tabindex=\"0\"><table>\n<thead>" +
                     html_row(rows.front(), true) + "</thead>\n<tbody>\n";
  for (std::size_t i = 1; i < rows.size(); ++i) html += html_row(rows[i], false);
  return html + "</tbody>\n</table></div>\n";
}

// The part that lasts the longest in each column; neighbouring columns of one part become one span.
std::vector<calib::PartSpan> draw_columns(const std::vector<calib::PartSpan>& spans, double column_s) {
  std::vector<std::map<calib::StepPart, double>> columns(kColumns + 1);
  for (const calib::PartSpan& span : spans)
    for (double at_s = span.begin_s; at_s < span.end_s;) {
      const auto column = std::min<std::size_t>(kColumns, static_cast<std::size_t>(at_s / column_s));
      const double end_s =
          column == kColumns ? span.end_s : std::min(span.end_s, (static_cast<double>(column) + 1) * column_s);
      columns[column][span.part] += end_s - at_s;
      at_s = std::max(end_s, at_s + 1e-6 * column_s);  // rounding must not stop it
    }
  std::vector<calib::PartSpan> drawn;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty()) continue;
    const auto most = std::max_element(columns[i].begin(), columns[i].end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const double begin_s = static_cast<double>(i) * column_s;
    if (!drawn.empty() && drawn.back().part == most->first && drawn.back().end_s >= begin_s - 0.5 * column_s)
      drawn.back().end_s = begin_s + column_s;
    else
      drawn.push_back({most->first, begin_s, begin_s + column_s});
  }
  return drawn;
}

class TimelinePicture {
 public:
  explicit TimelinePicture(const StepBreakdown& breakdown)
      : breakdown_(breakdown), longest_s_(std::max(breakdown.measured_s, breakdown.expected.seconds)) {
    for (const TracedRank& rank : breakdown.ranks) longest_s_ = std::max(longest_s_, rank.seconds);
    if (!breakdown.path.empty()) longest_s_ = std::max(longest_s_, breakdown.path.back().end_s);
  }

  std::string text() {
    add_legend();
    add_summary("measured", [](const PartTime& one) { return one.measured_s; });
    add_summary("expected", [](const PartTime& one) { return one.expected.seconds; });
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < breakdown_.ranks.size(); ++i)
      if (shown.size() + 1 < kMostLines || breakdown_.straggler == i || i + 1 == breakdown_.ranks.size())
        shown.push_back(i);
    if (shown.size() > kMostLines) shown.pop_back();
    for (std::size_t i : shown) add_rank(i);
    if (!breakdown_.path.empty()) add_path();
    add_axis();
    return svg::document(kWidth, y_ + 10, "Timelines of the step, measured and expected", body_);
  }

 private:
  double x_of(double seconds) const { return kLabelWidth + (kWidth - kLabelWidth - 20) * seconds / longest_s_; }

  void add_label(const std::string& label) { body_ += svg::text(kLabelWidth - 8, y_ + 0.7 * kRowHeight, "end", label); }
  void add_bar(calib::StepPart part, double begin_s, double end_s) {
    body_ += svg::rectangle(x_of(begin_s), y_, x_of(end_s) - x_of(begin_s), kRowHeight, colour_of_part(part));
  }
  void add_legend() {
    double x = 10;
    for (const PartTime& one : breakdown_.parts) {
      const std::string title = part_title(one.part);
      body_ += svg::square(x, y_, 12, colour_of_part(one.part)) + svg::text(x + 17, y_ + 11, "start", title);
      x += 40 + 6.5 * static_cast<double>(title.size());
    }
    y_ += kLegendHeight;
  }
  template <typename Seconds>
  void add_summary(const std::string& label, Seconds seconds_of) {
    add_label(label);
    double at_s = 0;
    for (const PartTime& one : breakdown_.parts) {
      add_bar(one.part, at_s, at_s + seconds_of(one));
      at_s += seconds_of(one);
    }
    y_ += kRowStep;
  }
  void add_rank(std::size_t place) {
    const TracedRank& rank = breakdown_.ranks[place];
    add_label("rank " + std::to_string(rank.rank) + (breakdown_.straggler == place ? ", slowest" : ""));
    for (const calib::PartSpan& span : draw_columns(rank.spans, longest_s_ / kColumns))
      add_bar(span.part, span.begin_s, std::min(span.end_s, rank.seconds));
    y_ += kRowStep;
  }
  // Draws the parts of the critical path, with the rank's number if it fits into the bar.
  void add_path() {
    add_label("critical path");
    for (const PathSegment& one : breakdown_.path) add_bar(one.part, one.begin_s, one.end_s);
    y_ += kRowHeight + 2;
    std::size_t first = 0;
    for (std::size_t i = 1; i <= breakdown_.path.size(); ++i) {
      const PathSegment& begin = breakdown_.path[first];
      if (i < breakdown_.path.size() && breakdown_.path[i].rank == begin.rank) continue;
      const double from = x_of(begin.begin_s), to = x_of(breakdown_.path[i - 1].end_s);
      const std::string label = std::to_string(breakdown_.ranks[begin.rank].rank);
      if (to - from > 10 + 7 * static_cast<double>(label.size()))
        body_ += svg::text((from + to) / 2, y_ + 11, "middle", label);
      first = i;
    }
    y_ += kRowStep - kRowHeight + 8;
  }
  void add_axis() {
    const double step_s = svg::step_of(longest_s_, 8);
    body_ += svg::line(x_of(0), y_, x_of(longest_s_), y_, "#555555");
    for (double at_s = 0; at_s <= longest_s_ * (1 + 1e-9); at_s += step_s) {
      body_ += svg::line(x_of(at_s), y_, x_of(at_s), y_ + 5, "#555555");
      body_ += svg::text(x_of(at_s), y_ + 18, "middle", short_number(1e3 * at_s) + " ms");
    }
    y_ += 24;
  }

  const StepBreakdown& breakdown_;
  double longest_s_;
  double y_ = 10;
  std::string body_;
};

std::string paragraph(const std::string& text) {
  return "<p>" + svg::escaped(text) + "</p>\n";
}

std::string breakdown_section(const StepBreakdown& breakdown) {
  std::string html =
      "<section>\n<h2>Where the step's time goes</h2>\n<div class=\"scroller\" tabindex=\"0\">" +
      TimelinePicture(breakdown).text() + "</div>\n" +
      paragraph(
          "The upper two bars have each part's time in one piece, the others the order in which a GPU "
          "went through them. Whatever lasts shorter than a pixel is not drawn. The numbers below the critical "
          "path are ranks.") +
      html_table(part_rows(breakdown));
  if (!breakdown.collectives.empty()) html += html_table(collective_rows(breakdown));
  if (breakdown.matched_calls > 0) html += html_table(rank_rows(breakdown));
  for (const std::string& text : {straggler_text(breakdown), critical_path_text(breakdown)})
    if (!text.empty()) html += paragraph(text);
  return html + "</section>\n";
}

std::string causes_section(const CheckResult& result) {
  std::string html = "<section>\n<h2>Causes, by probability</h2>\n";
  for (const RankedCause& cause : result.causes) {
    if (cause.probability < kLeastShown) continue;
    html += "<h3>" + percent_text(cause.probability) + " " + svg::escaped(cause_title(result, cause)) + "</h3>\n" +
            paragraph("For: " + text_for(result, cause)) + paragraph("Against: " + text_against(result, cause));
    if (cause.id == CauseId::normal) continue;
    for (const DecidingTest& test : cause.tests) html += paragraph("To tell: " + test_text(test));
    html += paragraph("Gain if removed: " + short_number(std::round(100 * cause.gain) / 100) + " times the speed");
  }
  return html + paragraph(first_test_text(result)) + "</section>\n";
}

}  // namespace

std::string check_page(const CheckResult& result, std::optional<double> least) {
  std::string body =
      "<header><p class=\"kicker\">Lockstep check</p>\n<h1>Verdict: " + svg::escaped(verdict_text(result)) +
      ".</h1></header>\n<main id=\"main\">\n<section>\n<h2>Measured and expected</h2>\n";
  for (const std::string& line : read_lines(result)) body += paragraph(line + ".");
  body += html_table(measurement_rows(result));
  if (least) body += paragraph(least_text(result, least));
  body += "</section>\n";
  for (const StepBreakdown& breakdown : result.breakdowns) body += breakdown_section(breakdown);
  return static_page("Lockstep check", body + causes_section(result) + "</main>\n");
}

}  // namespace lockstep::sim::explain
