import { missing } from "./half.js";
