#include <assert.h>
#include "half.h"
int main(void) { assert(half(4) == 2); return 0; }
