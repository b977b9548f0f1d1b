<?php
interface Sized {}
final class Box extends Shelf implements Sized
{
    const LIMIT = 3;
    private int $count = 0;
    /** Counts. */
    public function size(bool $deep): int { return helper("size $deep"); }
}
function make() { $local = 1; }
