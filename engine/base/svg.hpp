#pragma once
// Elements of SVG pictures. Coordinates are user units, y points down; numbers have one decimal. Deterministic.
#include <string>
#include <utility>
#include <vector>

namespace lockstep::svg {

/// Colours of series, in order: seven that people with colour blindness can distinguish (Okabe and Ito 2008), and
/// olive.
const std::vector<std::string>& colours();

std::string number(double value);
/// Replaces `<`, `>`, `&` and `"` by entities.
std::string escaped(const std::string& text);
/// `anchor` is the part of the text that is at (x, y): "start", "middle" or "end". Escapes the text.
std::string text(double x, double y, const std::string& anchor, const std::string& text);
std::string line(double x1, double y1, double x2, double y2, const std::string& colour);
std::string dashed_line(double x1, double y1, double x2, double y2, const std::string& colour);
std::string polyline(const std::vector<std::pair<double, double>>& points, const std::string& colour);
/// Fills a translucent polygon that has these corners.
std::string area(const std::vector<std::pair<double, double>>& points, const std::string& colour);
std::string dot(double x, double y, const std::string& colour);
std::string ring(double x, double y, const std::string& colour);
std::string rectangle(double x, double y, double width, double height, const std::string& colour);
std::string square(double x, double y, double side, const std::string& colour);
/// Returns the whole file, with a white background; screen readers read `label`.
std::string document(double width, double height, const std::string& label, const std::string& body);

/// The smallest step of the form 1, 2 or 5 times a power of ten that divides `span` into at most `most` steps.
double step_of(double span, int most);

}  // namespace lockstep::svg
