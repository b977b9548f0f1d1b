package org.example;

import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.*;

class HalfTest {
    @Test void even() { assertEquals(2, Half.half(4)); }
    @Test void odd() { assertEquals(2, Half.half(3)); }
    @Test void negative() { Half.half(-2); }
    @Nested class Later { @Test @Disabled void later() { } }
}
