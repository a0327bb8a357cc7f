/** Forms, and shell scripts, may send a tree as its JSON text: `warm_up={"kind":"linear",...}`. */
import { excessOf } from '../lib/bounded-body.ts';
import { mergeParameters, type ParameterValue } from './request-parameters.ts';

/** The object or list in the text, within the limits of a request's parameters; any other text unchanged. */
export function fromJsonText(name: string, value: ParameterValue): ParameterValue {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  const tree = parsed(value);
  return tree === undefined ? value : (mergeParameters([[name, tree]])[name] ?? null);
}

function parsed(text: string): unknown {
  // Too large to be one of our objects; the code that reads the value refuses it.
  if (excessOf(text) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
