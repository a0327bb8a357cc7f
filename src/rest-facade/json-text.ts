/** Forms, and shells that send them, can carry a tree as its JSON text: `warm_up={"kind":"linear",...}`. */
import { excessOf } from '../lib/bounded-body.ts';
import { mergeParameters, type ParameterValue } from './request-parameters.ts';

/** The object or list that the text is, within the limits of a request's parameters; anything else as it is. */
export function fromJsonText(name: string, value: ParameterValue): ParameterValue {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  const tree = parsed(value);
  return tree === undefined ? value : (mergeParameters([[name, tree]])[name] ?? null);
}

function parsed(text: string): unknown {
  // With this size it is no object of ours; the code that reads the value refuses it.
  if (excessOf(text) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
