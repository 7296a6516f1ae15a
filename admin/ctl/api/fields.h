#pragma once

#include <string>

#include "admin/ctl/api/api.h"

// Fields of the API's objects as people read them.
namespace gearstalk::ctl::api {

// A field's number; 0 where it is null or not there.
double Number(const Json& object, const char* field);
// A field as text, escaped for a terminal; "-" where it is null or not there.
std::string Word(const Json& object, const char* field);
std::string Age(const Json& object, const char* field);   // of seconds
std::string Size(const Json& object, const char* field);  // of bytes
std::string Count(const Json& object, const char* field);
// A line of blocks; the height of each is proportional to its value.
std::string Blocks(const Json& values, std::size_t width);
// A list of texts with commas between them.
std::string Words(const Json& list);

void ShowTubes(const Json& tubes);
void ShowTube(const Json& tube);
void ShowGroups(const Json& groups);
void ShowJobs(const Json& jobs);
void ShowRunning(const Json& jobs);
void ShowFailures(const Json& jobs);
void ShowFailureGroups(const Json& groups);
void ShowJob(const Json& job);
void ShowConnections(const Json& connections);

}  // namespace gearstalk::ctl::api
