package half

import "testing"

func TestEven(t *testing.T) {}

func TestOdd(t *testing.T) {}
