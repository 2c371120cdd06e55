// The machine's own figures, as getDiagnosticData shows them.
#pragma once

#include <istream>

#include "bson/builder.h"

namespace server {

// Each of these appends what a file of /proc says, under mongod's names: times in milliseconds, memory in KB. A line that isn't
// understood is left out. `ticks_a_second` is the unit of the times in /proc/stat.
void append_processor_metrics(std::istream& stat, long ticks_a_second, bson::Builder& out);
void append_memory_metrics(std::istream& meminfo, bson::Builder& out);
// Appends an object for each disk of /proc/diskstats that was read or written.
void append_disk_metrics(std::istream& diskstats, bson::Builder& out);

// Appends `cpu`, `memory` and `disks` of this machine.
void append_system_metrics(bson::Builder& out);

}  // namespace server
