#include "broker/server/output.h"
