def half(n)
  raise ArgumentError, "negative" if n < 0
  n / 2
end
