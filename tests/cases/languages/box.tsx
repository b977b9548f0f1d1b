interface Sized extends Base { size(): number; label: string }
type Count = number;
enum Kind { Small }
namespace shop { export function open(): void {} }
/**
 * Holds things.
 * More.
 */
export abstract class Box<T> extends Shelf<T> implements Sized {
  private count = 1;
  abstract clear(): void;
  size(): number { return this.count; }
}
export const make = <T,>(item: T): Box<T> => new Real(item);
