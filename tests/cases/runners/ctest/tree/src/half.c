#include "half.h"
int half(int n) { return n / 2; }
