import shelf, { Item as Thing } from './shelf';
// Holds things.
export class Box extends React.Component {
  static limit = 3;
  size(deep) { const local = `n: ${deep}`; return helper(local); }
}
export const make = (count) => new Box(count), LIMIT = 3;
Box.prototype.clear = function () {};
const fs = require("fs");
export { pack } from "./pack";
