// Headers that nearly every test above libjail reads, parsed once a build; see
// runtime/asio/README.md.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/asio/precompiled.h"
