#pragma once
// Texts on their way out. Names come from files that anybody wrote: on a screen, in a table or a spreadsheet they are
// text and nothing else. One function for each place; HTML pages set text by textContent (sim/report/html).
#include <exception>
#include <string>

namespace lockstep {

/// For a terminal: control characters but line breaks become escapes ("\x1b"), those of U+0080 to U+009F too, and so do
/// marks that turn the order of what is shown ("\u202e").
std::string for_terminal(const std::string& text);
/// The same to standard output.
void print(const std::string& text);
/// For an error: one line, for_terminal, at most 2000 bytes.
std::string message_line(const std::string& text);
/// What went wrong, as message_line(); "not enough memory" where that is it.
std::string message_of(const std::exception& error);

/// For Markdown: one line in which nothing is HTML, a table's border, a link or code.
std::string for_markdown(const std::string& text);
/// For a cell of a CSV file (RFC 4180). What a spreadsheet would take for a formula begins with an apostrophe (OWASP,
/// CSV injection).
std::string for_csv(const std::string& text);

/// Whether progress is drawn on standard error: a terminal that knows how to go back to a line's begin.
bool has_drawable_stderr();

}  // namespace lockstep
