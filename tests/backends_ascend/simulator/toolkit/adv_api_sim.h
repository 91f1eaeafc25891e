// Stands where CANN's adv_api headers do: found only with the include folder that the product adds.
#pragma once

inline float SimTwice(float value) { return 2.0f * value; }
