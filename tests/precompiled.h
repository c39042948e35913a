// What nearly every test includes, compiled once; see src/precompiled.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precompiled.h"
