#pragma once

#include <functional>
#include <thread>

namespace gearstalk {

// A thread beside the loop's. It takes no signals: they are the loop's.
std::thread StartThread(std::function<void()> run);

// Whether the caller may use what is for the loop's thread only: it is no thread of StartThread.
bool OnLoop();

}  // namespace gearstalk
