package half

import "testing"

func TestEven(t *testing.T) {
	if got := Half(4); got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestOdd(t *testing.T) {
	t.Run("small", func(t *testing.T) { t.Errorf("got %d\nwant 2", Half(3)) })
}

func TestLater(t *testing.T) { t.Skip("later") }

func TestEmpty(t *testing.T) { First(nil) }
