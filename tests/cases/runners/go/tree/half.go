package half

func Half(n int) int { return n / 2 }

func First(list []int) int { return list[0] }
