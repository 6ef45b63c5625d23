// JSON inside of an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// The same JSON document, for the inside of a <script> element: nothing in it can end the element
// or begin a comment, whatever its strings hold, and no line separator is left that is none to
// JSON.
std::string script_data(std::string_view json);

}  // namespace stepscope
