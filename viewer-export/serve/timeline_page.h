// The page that opens the Perfetto UI of another site and passes it the trace: page/timeline.*,
// compiled in.
//
// It follows the published protocol of that UI ("Deep linking to the Perfetto UI",
// https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui): open it in a window, send
// PING until it answers PONG, then send the trace as an ArrayBuffer. Both windows are the user's:
// nothing is uploaded.
#pragma once

#include <string>

namespace stepscope {

extern const char kTimelinePage[];
extern const char kTimelineStyle[];

// `ui_address`: scheme and host of the UI; `title`: of the trace, any text.
std::string timeline_script(const std::string& ui_address, const std::string& title);

}  // namespace stepscope
