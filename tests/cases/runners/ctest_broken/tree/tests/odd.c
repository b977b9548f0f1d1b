#include <assert.h>
#include "half.h"
int main(void) { assert(half(3) == 2); return 0; }
