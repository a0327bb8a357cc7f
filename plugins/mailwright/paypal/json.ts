/** Reads what PayPal answers: nobody has looked at it yet. */

export type Json = Readonly<Record<string, unknown>>;

export function textIn(object: Json, name: string): string | undefined {
  const value = object[name];
  return typeof value === 'string' ? value : undefined;
}

/** Empty when it is not there. */
export function objectIn(object: Json, ...path: readonly string[]): Json {
  return path.reduce<Json>((place, name) => {
    const value = place[name];
    return isJson(value) ? value : {};
  }, object);
}

/** The objects of a list. */
export function listIn(object: Json, name: string): readonly Json[] {
  const value = object[name];
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** A whole number, also one that is written as a text. */
export function wholeIn(object: Json, name: string): number | undefined {
  const value = Number(object[name] ?? Number.NaN);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Where a link of PayPal's answer leads. */
export function linkIn(object: Json, ...relations: readonly string[]): string | undefined {
  const links = listIn(object, 'links');
  const found = links.find((link) => relations.includes(textIn(link, 'rel') ?? ''));
  return found && textIn(found, 'href');
}

/** Undefined: it is no JSON, or no object. */
export function parseJson(text: string): Json | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isJson(value) ? value : undefined;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
