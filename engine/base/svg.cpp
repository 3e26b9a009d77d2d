#include "engine/base/svg.hpp"

#include <cmath>

#include "engine/base/text.hpp"

namespace lockstep::svg {
namespace {

std::string joined_points(const std::vector<std::pair<double, double>>& points) {
  std::string all;
  for (const auto& [x, y] : points) all += (all.empty() ? "" : " ") + number(x) + "," + number(y);
  return all;
}

std::string circle(double x, double y, const std::string& how) {
  return "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"4\" " + how + "/>\n";
}

std::string line_with(double x1, double y1, double x2, double y2, const std::string& how) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\" " + how + "/>\n";
}

}  // namespace

const std::vector<std::string>& colours() {
  static const std::vector<std::string> all{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#e69f00", "#56b4e9", "#000000", "#999933"};
  return all;
}

std::string number(double value) {
  return formatted("%.1f", value);
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string text(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" + escaped(text) +
         "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& colour) {
  return line_with(x1, y1, x2, y2, "stroke=\"" + colour + "\"");
}

std::string dashed_line(double x1, double y1, double x2, double y2, const std::string& colour) {
  return line_with(x1, y1, x2, y2, "stroke-dasharray=\"4 3\" stroke=\"" + colour + "\"");
}

std::string polyline(const std::vector<std::pair<double, double>>& points, const std::string& colour) {
  return "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\" points=\"" + joined_points(points) +
         "\"/>\n";
}

std::string area(const std::vector<std::pair<double, double>>& points, const std::string& colour) {
  return "<polygon fill-opacity=\"0.15\" fill=\"" + colour + "\" points=\"" + joined_points(points) + "\"/>\n";
}

std::string dot(double x, double y, const std::string& colour) {
  return circle(x, y, "fill=\"" + colour + "\"");
}

std::string ring(double x, double y, const std::string& colour) {
  return circle(x, y, "fill=\"none\" stroke-width=\"2\" stroke=\"" + colour + "\"");
}

std::string rectangle(double x, double y, double width, double height, const std::string& colour) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
         number(height) + "\" fill=\"" + colour + "\"/>\n";
}

std::string square(double x, double y, double side, const std::string& colour) {
  return rectangle(x, y, side, side, colour);
}

std::string document(double width, double height, const std::string& label, const std::string& body) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
         "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
         "\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"" + escaped(label) +
         "\">\n<rect width=\"" + number(width) + "\" height=\"" + number(height) + "\" fill=\"white\"/>\n" + body +
         "</svg>\n";
}

double step_of(double span, int most) {
  const double power = std::pow(10, std::floor(std::log10(span / most)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power * most >= span) return factor * power;
  return 10 * power;
}

}  // namespace lockstep::svg
