#pragma once
// Escapes texts for output. Names come from files that anybody may have written, so a screen, table or spreadsheet must
// show them as plain text. One function per destination; HTML pages set text by textContent (sim/report/html).
#include <exception>
#include <string>

namespace lockstep {

/// For a terminal: escapes control characters other than line breaks ("\x1b"), those of U+0080 to U+009F, and marks
/// that change the direction of text ("\u202e").
std::string for_terminal(const std::string& text);
/// Prints for_terminal(text) to standard output.
void print(const std::string& text);
/// Makes an error message: one line, escaped as by for_terminal(), at most 2000 bytes.
std::string message_line(const std::string& text);
/// Returns the error's message as message_line(); "not enough memory" for std::bad_alloc.
std::string message_of(const std::exception& error);

/// For Markdown: one line without HTML, table borders, links or code.
std::string for_markdown(const std::string& text);
/// For a cell of a CSV file (RFC 4180). Puts an apostrophe before text that a spreadsheet would take for a formula
/// (OWASP, CSV injection).
std::string for_csv(const std::string& text);

/// Whether progress can be drawn on standard error: it is a terminal that can return to the beginning of a line.
bool has_drawable_stderr();

}  // namespace lockstep
