/** Forms, and shells that send them, can carry a tree as its JSON text: `warm_up={"kind":"linear",...}`. */
import { excessOf } from '../lib/bounded-body.ts';
import { buildBag, type BagValue } from './bag.ts';

/** The object or list that the text is, within the limits of a bag; anything else as it is. */
export function fromJsonText(name: string, value: BagValue): BagValue {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  const tree = parsed(value);
  return tree === undefined ? value : (buildBag([[name, tree]])[name] ?? null);
}

function parsed(text: string): unknown {
  // Of that size it is no object of ours, and is refused as whatever it stands for.
  if (excessOf(text) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
