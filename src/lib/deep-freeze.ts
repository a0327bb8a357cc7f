/** Makes plain data unchangeable. */

/** Freezes the lists and plain objects in it and returns it. Objects of classes, such as dates and buffers, stay as they are. */
export function deepFreeze<T>(value: T): T {
  if (isPlain(value)) freeze(value, undefined);
  return value;
}

/** `seen`: objects that were frozen before they were found, and circles among them. Their inner ones may not be frozen. */
function freeze(value: object, seen: Set<object> | undefined): Set<object> | undefined {
  Object.freeze(value);
  let found = seen;
  for (const inner of Object.values(value)) {
    if (!isPlain(inner)) continue;
    if (Object.isFrozen(inner)) {
      if (found?.has(inner)) continue;
      found = (found ?? new Set()).add(inner);
    }
    found = freeze(inner, found);
  }
  return found;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
