// JSON inside an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// The same JSON document, safe inside a <script> element: no string in it can end the element or
// begin a comment, and no character remains that JavaScript, but not JSON, treats as a line
// separator.
std::string script_data(std::string_view json);

}  // namespace stepscope
