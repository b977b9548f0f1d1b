package shop

import (
	"fmt"
	other "shop/other"
)

type Box struct {
	Shelf
	count int
}

type Sized interface{ Size() int }

const Limit = 3

// Size counts.
func (b *Box) Size() int { local := "Size"; return fmt.Len(local) }

func Make[T any](item T) *Box { return nil }
