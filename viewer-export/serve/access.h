// Access control of a RunServer: only the browser of the user who started it may read.
//
// A loopback port is open to every program on the machine, to its other users, and through the
// user's browser to every web page. Therefore three checks:
// - the address contains a token that only its user knows;
// - Host must name the loopback, so that no web name can be made to resolve to it (DNS rebinding);
// - Origin, where a browser sends one, must be our own: other pages cannot read through the user's
//   browser.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// 128 random bits of the system in hexadecimal digits; nothing if it provides none.
std::optional<std::string> make_token();

// Constant time, also for a token that is almost right.
bool same_token(std::string_view a, std::string_view b);

// `host` as in the header Host: 127.0.0.1 or localhost, with any port, since a forwarded connection
// (ssh -L) has another one.
bool host_is_allowed(std::string_view host);

// `origin` as in the header Origin, "" if there was none; `host` as in the same request.
bool origin_is_allowed(std::string_view origin, std::string_view host);

// "/TOKEN/rest" gives "rest"; nothing if the path begins differently.
std::optional<std::string_view> path_behind_token(std::string_view path, std::string_view token);

}  // namespace stepscope
