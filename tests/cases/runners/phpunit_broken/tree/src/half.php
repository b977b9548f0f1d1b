<?php
function half(int $n): int
{
    if ($n < 0) { throw new InvalidArgumentException('negative'); }
    return intdiv($n, 2);
}
