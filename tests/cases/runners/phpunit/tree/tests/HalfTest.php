<?php
require_once __DIR__ . '/../src/half.php';

final class HalfTest extends PHPUnit\Framework\TestCase
{
    public function testEven(): void { $this->assertSame(2, half(4)); }
    public function testOdd(): void { $this->assertSame(2, half(3)); }
    public function testNegative(): void { half(-2); }
    public function testLater(): void { $this->markTestSkipped('later'); }
    /** @dataProvider sizes */
    public function testSizes($n): void { $this->assertSame(1, half($n)); }
    public static function sizes() { return ['two' => [2], 'three' => [3]]; }
}
