// Who may read what a RunServer serves: the browser of the user who started it, nobody else.
//
// A loopback port is open to every program of the machine, to other users of it, and through the
// user's browser to every page of the web. Therefore three locks:
// - the address holds a token that only its user knows;
// - Host must name the loopback, so that no name of the web can be made to lead here (DNS
//   rebinding);
// - Origin, where a browser sends one, must be our own: no other page reads with the user's hands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// 128 random bits of the system in hexadecimal digits; nothing when it has none to give.
std::optional<std::string> make_token();

// Takes as long for a token that is nearly right.
bool same_token(std::string_view a, std::string_view b);

// `host` as in the header Host: 127.0.0.1 or localhost, whatever the port, which is another one
// when the connection was forwarded (ssh -L).
bool host_is_allowed(std::string_view host);

// `origin` as in the header Origin, "" when there was none; `host` as it came with it.
bool origin_is_allowed(std::string_view origin, std::string_view host);

// "/TOKEN/rest" gives "rest"; nothing when it begins otherwise.
std::optional<std::string_view> path_behind_token(std::string_view path, std::string_view token);

}  // namespace stepscope
