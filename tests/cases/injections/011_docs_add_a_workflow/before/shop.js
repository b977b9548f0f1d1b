/** Add up prices. */
export function total(prices) {
  return prices.slice(1).reduce((sum, price) => sum + price, 0);
}
